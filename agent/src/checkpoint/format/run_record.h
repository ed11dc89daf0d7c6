// RunRecord: facts about the run that a checkpoint contains besides tensors: counts of steps and samples, the
// training time, and the position in the run's history file. Rank 0 writes the run record into its receipt,
// and the manifest contains the record, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/numerics.h>

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

// The maximum lengths of texts in a run record: a longer text is cut when it is written.
inline constexpr std::size_t kNumericsTextBytesMax = 64;
inline constexpr std::size_t kReasonBytesMax = 256;
inline constexpr std::size_t kPlannedEndBytesMax = 64;

// The limit of a training time is 146 years: a record with a greater value is damaged. The sum of two times
// of at most 146 years does not overflow 64 bits.
inline constexpr std::uint64_t kTrainedNanosecondsMax = 1ULL << 62;

// Records that the program ended the run early, before `until`, the planned end of the run. The next start
// continues the run only if the planned end of that start differs from `until`.
struct EarlyEnd {
  std::string reason{};
  std::string until{};

  friend bool operator==(const EarlyEnd&, const EarlyEnd&) = default;
};

// Requests (save, keep, finish) that the program made in the saved step and that take effect at the end of
// the next step. A receipt contains the requests of its own rank, and the manifest contains the requests of
// all ranks.
struct PendingRequests {
  bool save = false;
  std::string keep{};    // why that save must be kept; empty: retention decides
  std::string finish{};  // why the next step is the run's last one; empty: it is not the last

  [[nodiscard]] bool is_empty() const { return !save && keep.empty() && finish.empty(); }
  // Adds `other`, the requests of another rank. If both ranks give a reason, merge_requests() keeps the
  // reason that is already in this object.
  void merge_requests(const PendingRequests& other);

  friend bool operator==(const PendingRequests&, const PendingRequests&) = default;
};

// Limits of save_best().
inline constexpr std::size_t kBestNamesMax = 16;
inline constexpr std::size_t kBestNameBytesMax = 64;
inline constexpr std::size_t kBestKeptMax = 100;
inline constexpr std::size_t kBestSpareEntries = 10;  // how much longer than `keep` a list is

// A checkpoint that was among the best ones by a named value, such as "accuracy", when this record was
// written.
struct BestCheckpoint {
  CheckpointId id{};
  double value = 0;

  friend bool operator==(const BestCheckpoint&, const BestCheckpoint&) = default;
};

// The list `kept` may have more than `keep` entries, because some listed checkpoints may not exist: a save
// failed, or a folder or store has no copy. Of the listed checkpoints that it holds, each folder or store
// keeps the first `keep`.
struct BestCheckpointList {
  std::string name{};
  std::uint64_t keep = 1;
  std::vector<BestCheckpoint> kept{};  // not empty; the best one first

  friend bool operator==(const BestCheckpointList&, const BestCheckpointList&) = default;
};

// A checkpoint that save_best() keeps and that exists.
struct KeptBest {
  std::string name{};  // of the value
  BestCheckpoint checkpoint{};

  friend bool operator==(const KeptBest&, const KeptBest&) = default;
};
// Returns, of each list, the first `keep` checkpoints that are in `there`: the best one first.
[[nodiscard]] std::vector<KeptBest> find_kept_best(const std::vector<BestCheckpointList>& lists,
                                                   const std::set<CheckpointId>& there);
// Returns a text for people: the kept checkpoints of each value, such as "error: 0 at step 10, 1 at step 7".
[[nodiscard]] std::vector<std::string> describe_kept_best(const std::vector<KeptBest>& kept);

// Limits of unpin(): the number of steps that one rank requests before its next save, and the number of steps
// in one record.
inline constexpr std::size_t kUnpinnedOfRankMax = 100;
inline constexpr std::size_t kUnpinnedMax = 1000;

// A request of the program to unpin the checkpoints of a step. `since` is the first checkpoint whose record
// has the request. Later records repeat the request for the folders and stores that have no copy of `since`.
struct UnpinnedStep {
  std::uint64_t step = 0;
  CheckpointId since{};

  friend bool operator==(const UnpinnedStep&, const UnpinnedStep&) = default;
};

// Marks the reason of a pin as made by save_best(). Ratoon removes a pin of save_best() when the pinned
// checkpoint is no longer among the best.
[[nodiscard]] std::string mark_as_best(std::string reason);
[[nodiscard]] bool is_marked_as_best(std::string_view reason);

// The reason that rank 0 records for a request of another rank: rank 0 receives the request without the
// reason.
inline constexpr std::string_view kReasonOfAnotherRank = "requested by another rank";

// The record of a run in one checkpoint. If the program asks to keep the checkpoint, `keep` is the reason. If
// `keep` is set, the commit of the checkpoint and each copy of it into a store also create its pin file.
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
  std::vector<BestCheckpointList> best{};  // the checkpoints that save_best() keeps, with this one
  std::vector<UnpinnedStep> unpinned{};    // of each rank's receipt its own; of the manifest those of all
  bool begins_epoch = false;  // whether the next step is the first one whose batch begins in its epoch

  // Adds the requests and reasons in `other`, the record of another rank, because rank 0 receives requests of
  // other ranks without their reasons.
  void merge_requests(const RunRecord& other);

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

// The number of finished epochs; 0 if the run counts no epochs.
[[nodiscard]] constexpr std::uint64_t epoch_of(const std::optional<RunRecord>& run) {
  return run && run->epoch_samples != 0 ? run->samples / run->epoch_samples : 0;
}

}  // namespace ratoon::checkpoint
