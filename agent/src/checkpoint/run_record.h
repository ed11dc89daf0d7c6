// What a checkpoint knows of its run beside what is tracked: how far the run is, in counts and time, and
// where its history stands. Rank 0 says it with its pack, and the manifest keeps it.
#pragma once

#include <cstdint>

namespace ratoon::checkpoint {

struct RunRecord {
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;              // slots before the stream's cursor
  std::uint64_t epoch_samples = 0;        // 0: no stream, or none with epochs
  std::uint64_t trained_nanoseconds = 0;  // in the training loop, of all attempts that led here
  std::uint64_t history_attempt = 0;      // whose file of the history goes on here; 0: there is none
  std::uint64_t history_bytes = 0;        // of that file

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

}  // namespace ratoon::checkpoint
