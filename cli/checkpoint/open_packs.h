// The packs of one checkpoint, each open and its header verified. From then on they can be read to the end,
// also where the run retires them meanwhile; but not in a store, where what was retired is gone at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack_reader.h"
#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

struct OpenPack {
  checkpoint::PackRecord record;
  std::string name;  // its path, as messages show it
  checkpoint::PackReader reader;
};

// Whether the run has retired it since it was looked for: what is missing of it then is no damage.
[[nodiscard]] bool is_retired(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id);

// Of all ranks, or of one. kConflict: the run has retired the checkpoint since it was looked for.
[[nodiscard]] Result<std::vector<OpenPack>> open_packs(const checkpoint::Disk& disk,
                                                       const checkpoint::CheckpointId& id,
                                                       const checkpoint::Manifest& manifest,
                                                       std::optional<std::uint32_t> only_rank = {});

// One checkpoint with its packs, chosen again where the run retires it in between.
struct OpenCheckpoint {
  FoundCheckpoint found;
  std::vector<OpenPack> packs;
};
[[nodiscard]] Result<OpenCheckpoint> open_checkpoint(const checkpoint::Disk& disk, const Wish& wish,
                                                     std::optional<std::uint32_t> only_rank = {});

// What `once` gives; called again, five times at most, where the run has retired meanwhile what it had
// chosen, and said kConflict.
template <typename Once>
[[nodiscard]] auto unless_retired(const Once& once) {
  auto result = once();
  for (int again = 1; again < 5 && !result && result.error().kind() == ErrorKind::kConflict; ++again)
    result = once();
  return result;
}

// A checkpoint of thousands of ranks is as many open files.
void raise_limit_of_open_files();

}  // namespace ratoon::cli
