// cli/report/facts/: reads a run's files. RunFacts: all facts that a run's files tell about the run.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/src/checkpoint/format/run_record.h"
#include "cli/report/facts/attempt_history.h"
#include "cli/report/facts/run_event.h"

namespace ratoon::cli {

struct StoredCheckpoint {
  std::uint64_t step = 0;
  std::uint64_t attempt = 0;
  std::string state{};  // as in `ratoon checkpoint list`
  std::string why{};
  std::uint64_t ranks = 0;
  std::uint64_t size_bytes = 0;
  std::optional<WallTime> saved_at{};
  std::string digest{};
  std::string pin_reason{};          // empty: it is not pinned
  std::vector<std::string> tiers{};  // places that have it: "folder", or a store
  std::string finish_reason{};       // of finish(), if the program ended the run with this checkpoint
};

// The position of one sample stream in the newest checkpoint.
struct ConsumedSamples {
  std::string stream{};
  std::string digest{};
  std::uint64_t samples = 0;
  std::uint64_t batches = 0;
};

// The time of a cluster's job: from its creation to its end, or until now.
struct JobTime {
  WallTime begin;
  WallTime end;
};

struct RunFacts {
  std::string name{};
  std::string folder{};
  std::optional<api::TrainingJobStatus> status{};  // of runs of `ratoon run`, and of a cluster's job
  std::optional<JobTime> job_time{};               // of a cluster's job
  std::vector<RunEvent> events{};
  AttemptHistory history{};
  std::vector<StoredCheckpoint> checkpoints{};  // newest first
  std::vector<checkpoint::KeptBest> best{};     // of save_best(), of each value the best one first
  std::set<std::uint64_t> uncommitted{};        // attempts with packs of which no manifest was written
  std::vector<ConsumedSamples> samples{};
  std::vector<std::string> complaints{};  // sentences about missing or unreadable files
};

}  // namespace ratoon::cli
