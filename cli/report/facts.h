// What the files of a run say, before anything is made of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/event.h"
#include "cli/report/past.h"

namespace ratoon::cli {

struct StoredCheckpoint {
  std::uint64_t step = 0;
  std::uint64_t attempt = 0;
  std::string state{};  // the word of `ratoon checkpoint list`
  std::string why{};
  std::uint64_t ranks = 0;
  std::uint64_t size_bytes = 0;
  std::optional<WallTime> saved_at{};
  std::string digest{};
  bool is_pinned = false;
  std::vector<std::string> tiers{};  // where it lies: "folder", or a store
};

// Of one stream of samples, as the newest checkpoint has it.
struct ConsumedSamples {
  std::string stream{};
  std::string digest{};
  std::uint64_t samples = 0;
  std::uint64_t batches = 0;
};

struct RunFacts {
  std::string name{};
  std::string folder{};
  std::optional<api::TrainingJobStatus> status{};  // of a run by `ratoon run`
  std::vector<Event> events{};
  Past past{};
  std::vector<StoredCheckpoint> checkpoints{};  // newest first
  std::vector<ConsumedSamples> samples{};
  std::vector<std::string> complaints{};  // sentences about what is missing or could not be read
};

}  // namespace ratoon::cli
