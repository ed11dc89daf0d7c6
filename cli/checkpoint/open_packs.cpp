#include "cli/checkpoint/open_packs.h"

#include <utility>

#include <sys/resource.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/parts/part_files.h"

namespace ratoon::cli {

bool is_retired(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id) {
  const auto manifest = checkpoint::read_manifest(disk, id);
  return !manifest && manifest.error().kind() == ErrorKind::kNotFound;
}

Result<void> visit_packs(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id,
                         const checkpoint::Manifest& manifest, std::optional<std::uint32_t> only_rank,
                         const std::function<Result<void>(OpenPack)>& visit) {
  if (only_rank && *only_rank >= manifest.packs.size()) {
    return Error(ErrorKind::kNotFound, "the checkpoint of " + checkpoint_text(id) + " has " +
                                           std::to_string(manifest.packs.size()) +
                                           " ranks, numbered from 0; there is no rank " +
                                           std::to_string(*only_rank));
  }
  const auto failed = [&](const Error& error) {
    return is_retired(disk, id)
               ? Error(ErrorKind::kConflict, "the checkpoint of " + checkpoint_text(id) +
                                                 " was retired by its run while this command "
                                                 "read it")
               : error;
  };
  for (const auto& record : manifest.packs) {
    if (only_rank && record.rank.value() != *only_rank) continue;
    const std::string path = checkpoint::pack_path(id, record.rank);
    auto reader = checkpoint::PackReader::open(disk, path, record);
    if (!reader) return failed(reader.error());
    if (auto visited = visit({record, disk.shown(path), *std::move(reader)}); !visited) return visited;
  }
  for (const auto& record : manifest.packs) {
    if (only_rank && record.rank.value() != *only_rank) continue;
    for (const auto& tensor : record.tensors_in_parts) {
      for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
        auto reader = checkpoint::PackReader::open_part(disk, tensor, part, record.owner);
        if (!reader) return failed(reader.error());
        auto part_record = checkpoint::pack_record_of_part(tensor, part, record.owner);
        part_record.rank = record.rank;
        std::string shown = reader->shown();
        auto visited = visit({std::move(part_record), std::move(shown), *std::move(reader), true});
        if (!visited) return visited;
      }
    }
  }
  return {};
}

Result<std::vector<OpenPack>> open_packs(const checkpoint::Disk& disk, const checkpoint::CheckpointId& id,
                                         const checkpoint::Manifest& manifest,
                                         std::optional<std::uint32_t> only_rank) {
  std::vector<OpenPack> packs;
  const auto visited = visit_packs(disk, id, manifest, only_rank, [&](OpenPack pack) -> Result<void> {
    packs.push_back(std::move(pack));
    return {};
  });
  if (!visited) return visited.error();
  return packs;
}

Result<OpenCheckpoint> open_checkpoint(const checkpoint::Disk& disk, const CheckpointSelection& selection,
                                       std::optional<std::uint32_t> only_rank) {
  return retry_if_retired([&]() -> Result<OpenCheckpoint> {
    const auto survey = take_survey(disk);
    if (!survey) return survey.error();
    const auto found = choose_checkpoint(*survey, selection);
    if (!found) return found.error();
    auto packs = open_packs(disk, (*found)->id, *(*found)->manifest, only_rank);
    if (!packs) return packs.error();
    return OpenCheckpoint{**found, *std::move(packs)};
  });
}

void raise_limit_of_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));  // if this fails, open() reports the error
}

}  // namespace ratoon::cli
