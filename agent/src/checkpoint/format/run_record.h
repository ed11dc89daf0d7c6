// RunRecord: facts about the run in a checkpoint, beside the tracked state: the progress of the run in counts
// and time, and the position in its history. Rank 0 writes this record into its receipt, and the manifest
// keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/numerics.h>

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

// Limits of texts in a run record: the code that writes a text cuts it to the limit.
inline constexpr std::size_t kNumericsTextBytesMax = 64;
inline constexpr std::size_t kReasonBytesMax = 256;
inline constexpr std::size_t kUntilBytesMax = 64;

// 146 years, longer than any run has trained: a record with a greater value is not from a run. The sum of two
// times of at most 146 years does not overflow.
inline constexpr std::uint64_t kTrainedNanosecondsMax = 1ULL << 62;

// A record that the program ended the run early. The next start does not continue the run while the end of
// the run is still `until`.
struct EarlyEnd {
  std::string reason{};
  std::string until{};

  friend bool operator==(const EarlyEnd&, const EarlyEnd&) = default;
};

// Requests of the program in the saved step, and requests that take effect at the end of the next step. A
// receipt contains the requests of its rank, and the manifest the requests of all ranks.
struct PendingRequests {
  bool save = false;
  std::string keep{};    // why that save must be kept; empty: retention decides
  std::string finish{};  // why the next step is the run's last one; empty: it is not the last

  [[nodiscard]] bool is_empty() const { return !save && keep.empty() && finish.empty(); }
  // Adds the requests of another rank. If both ranks have a reason, the first reason stays.
  void join(const PendingRequests& other);

  friend bool operator==(const PendingRequests&, const PendingRequests&) = default;
};

// Limits of save_best().
inline constexpr std::size_t kBestNamesMax = 16;
inline constexpr std::size_t kBestNameBytesMax = 64;
inline constexpr std::size_t kBestKeptMax = 100;
inline constexpr std::size_t kBestSpare = 10;  // how much longer than `keep` a list is

// A checkpoint whose value is among the best values of its name, at the time of the record.
struct BestCheckpoint {
  CheckpointId id{};
  double value = 0;

  friend bool operator==(const BestCheckpoint&, const BestCheckpoint&) = default;
};

// The list is longer than `keep`, because a checkpoint in it may turn out to be missing: its save failed, or
// a place has no copy of it. Each place keeps the first `keep` checkpoints that exist there.
struct BestOf {
  std::string name{};
  std::uint64_t keep = 1;
  std::vector<BestCheckpoint> kept{};  // not empty; the best one first

  friend bool operator==(const BestOf&, const BestOf&) = default;
};

// The reason of a pin that save_best() makes. A pin that save_best() made is removed when its checkpoint is
// no longer among the best.
[[nodiscard]] std::string mark_as_best(std::string reason);
[[nodiscard]] bool is_marked_as_best(std::string_view reason);

// The reason that rank 0 records for a request of another rank: only that rank knows the real reason.
inline constexpr std::string_view kAnotherRank = "another rank says so";

// `keep` is the reason for which the program wants this checkpoint kept. The process that commits or copies
// the checkpoint pins it in the place of the copy.
struct RunRecord {
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;              // slots before the stream's cursor
  std::uint64_t epoch_samples = 0;        // 0: no stream, or none with epochs
  std::uint64_t trained_nanoseconds = 0;  // in the training loop, of all attempts that led here
  std::uint64_t history_attempt = 0;      // the attempt whose history file continues here; 0: there is none
  std::uint64_t history_bytes = 0;        // of that file
  std::optional<EarlyEnd> early_end{};    // only in the run's last checkpoint
  std::optional<Numerics> numerics{};     // of rank 0; empty if no library is attached
  std::optional<std::uint64_t> seed{};    // empty if the writer had none
  std::string keep{};                     // empty: retention decides
  PendingRequests requests{};
  std::vector<BestOf> best{};  // the checkpoints that save_best() keeps, with this one

  // Adds the requests of another rank: rank 0 knows only its own reasons.
  void join(const RunRecord& other);

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

// The number of finished epochs; 0 if the run counts no epochs.
[[nodiscard]] constexpr std::uint64_t epoch_of(const std::optional<RunRecord>& run) {
  return run && run->epoch_samples != 0 ? run->samples / run->epoch_samples : 0;
}

}  // namespace ratoon::checkpoint
