// The packs of one checkpoint, each open and with a verified header. Open packs can be read to the end even
// if the run retires them. In a store such a pack cannot be read to the end, because a retired pack no longer
// exists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/load/pack_reader.h"
#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

struct OpenPack {
  checkpoint::PackRecord record;
  std::string name;  // its path as shown in messages
  checkpoint::PackReader reader;
};

// Whether the run has retired the checkpoint after this command chose it. If so, a missing file is not
// damage.
[[nodiscard]] bool is_retired(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id);

// Opens the packs of all ranks, or of one. kConflict: the run has retired the checkpoint after it was chosen.
[[nodiscard]] Result<std::vector<OpenPack>> open_packs(const checkpoint::Disk& disk,
                                                       const checkpoint::CheckpointId& id,
                                                       const checkpoint::Manifest& manifest,
                                                       std::optional<std::uint32_t> only_rank = {});

// One checkpoint with its packs. If the run retires the first choice in between, another checkpoint is
// chosen.
struct OpenCheckpoint {
  FoundCheckpoint found;
  std::vector<OpenPack> packs;
};
[[nodiscard]] Result<OpenCheckpoint> open_checkpoint(const checkpoint::Disk& disk,
                                                     const CheckpointSelection& selection,
                                                     std::optional<std::uint32_t> only_rank = {});

// Returns the result of `once`. Calls `once` up to five times while it returns kConflict, which means that
// the run has retired the checkpoint that it had chosen.
template <typename Once>
[[nodiscard]] auto retry_if_retired(const Once& once) {
  auto result = once();
  for (int again = 1; again < 5 && !result && result.error().kind() == ErrorKind::kConflict; ++again)
    result = once();
  return result;
}

// Raises the soft limit to the hard limit: a checkpoint of thousands of ranks needs as many open files.
void raise_limit_of_open_files();

}  // namespace ratoon::cli
