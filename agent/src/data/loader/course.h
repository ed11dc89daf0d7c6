// What a loader reads: the part that never changes, and the part that is another one after each change of the
// stream or of the share.
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

struct Reading {
  std::vector<std::shared_ptr<const Dataset>> sources;
  std::vector<Column> columns;
  bool are_rows_declared = false;  // of all columns, type and shape; augmentation may make others
  std::function<void(Sample&, SampleRandom&)> augment;
  std::string purpose;
  Allocate allocate;
  std::size_t piece_rows_max = 64;
  std::size_t pieces_wanted = 1;  // of a batch, so that all threads have some
};

struct Course {
  StreamReader plan;  // asked for slots by one thread at a time: whoever plans
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::vector<std::uint64_t> random_keys;  // of each source
  std::stop_source stop;                   // requested when nobody wants its batches any more
};

}  // namespace ratoon::data
