// LoaderInput contains the part of a data loader's input that never changes. A LoaderPlan says which rows of
// each batch a rank reads. If the stream or the rank's share of batches changes, the loader makes a new
// LoaderPlan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ratoon/dataset.h>
#include <ratoon/sample_random.h>
#include <ratoon/stream_reader.h>

#include "agent/src/data/loader/column_maker.h"

namespace ratoon::data {

struct LoaderInput {
  std::vector<std::shared_ptr<const Dataset>> sources;
  std::vector<Column> columns;
  // True if every column of the data sets declares its type and shape, and no augmentation changes types or
  // shapes.
  bool are_row_shapes_declared = false;
  std::function<void(Sample&, SampleRandom&)> augment;
  std::string purpose;
  AllocateFunction allocate;
  std::size_t piece_rows_max = 64;
  std::size_t target_pieces_per_batch = 1;  // of a batch, so that every thread has some
};

struct LoaderPlan {
  StreamReader stream_reader;  // only the thread that plans uses it
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::vector<std::uint64_t> augmentation_keys;  // of augmentations; one per source
  std::vector<std::uint64_t> sample_read_keys;   // of current_sample_random(); one per source
  std::stop_source stop;                         // stop is requested when its batches are no longer needed
};

}  // namespace ratoon::data
