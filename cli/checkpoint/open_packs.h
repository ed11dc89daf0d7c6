// Opens the packs (tensor files) of one checkpoint and verifies their headers. Open packs in a folder can be
// read to the end even if the run retires (deletes) them. In an object store a retired pack is gone at once,
// so reading it fails.
#pragma once

#include <functional>
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
  bool is_part = false;  // a part file of the rank; its header says which part of the whole tensor it has
};

// Returns whether the run has retired (deleted) the checkpoint after this command chose it. A file that is
// missing because the run retired the checkpoint is no damage.
[[nodiscard]] bool is_retired(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id);

// Opens the packs of all ranks, or of `only_rank`, and then the part files of these ranks, one after another,
// and calls `visit` with each. Returns kConflict if the run has retired the checkpoint by now, and the first
// error of `visit`. A checkpoint may have thousands of packs and part files: a visit that does not keep them
// needs one open file at a time.
[[nodiscard]] Result<void> visit_packs(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id,
                                       const checkpoint::Manifest& manifest,
                                       std::optional<std::uint32_t> only_rank,
                                       const std::function<Result<void>(OpenPack)>& visit);

// Opens the files that visit_packs() visits, and keeps all of them open.
[[nodiscard]] Result<std::vector<OpenPack>> open_packs(const checkpoint::Disk& disk,
                                                       const checkpoint::CheckpointId& id,
                                                       const checkpoint::Manifest& manifest,
                                                       std::optional<std::uint32_t> only_rank = {});

// One checkpoint with its open packs. If the run retires the chosen checkpoint in the meantime,
// open_checkpoint() chooses again.
struct OpenCheckpoint {
  FoundCheckpoint found;
  std::vector<OpenPack> packs;
};
[[nodiscard]] Result<OpenCheckpoint> open_checkpoint(const checkpoint::Disk& disk,
                                                     const CheckpointSelection& selection,
                                                     std::optional<std::uint32_t> only_rank = {});

// Calls the function `once` and returns its result. While `once` returns kConflict, which means that the run
// has retired the chosen checkpoint, repeats the call, up to five calls in all.
template <typename Once>
[[nodiscard]] auto retry_if_retired(const Once& once) {
  auto result = once();
  for (int again = 1; again < 5 && !result && result.error().kind() == ErrorKind::kConflict; ++again)
    result = once();
  return result;
}

// Raises this process's soft limit of open files to the hard limit, because open_packs() keeps one file open
// for each rank and for each part file.
void raise_limit_of_open_files();

}  // namespace ratoon::cli
