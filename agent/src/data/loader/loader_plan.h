// LoaderInput contains the input of a data loader that never changes. A LoaderPlan says which rows of which
// batches are read. If the stream or this rank's share of the batches changes, a new LoaderPlan is made.
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
  bool are_rows_declared = false;
  std::function<void(Sample&, SampleRandom&)> augment;
  std::string purpose;
  Allocate allocate;
  std::size_t piece_rows_max = 64;
  std::size_t pieces_wanted = 1;  // of a batch, so that every thread has some
};

struct LoaderPlan {
  StreamReader plan;  // only the thread that plans uses it
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::vector<std::uint64_t> random_keys;  // one per source
  std::stop_source stop;                   // stop is requested when its batches are no longer needed
};

}  // namespace ratoon::data
