#include "agent/src/checkpoint/commit/votes.h"

#include <algorithm>
#include <set>
#include <string>

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kMeasuredFilesMax = 64;  // a call opens at most this many files

Result<std::vector<DiskEntry>> list_or_empty(const Disk& disk, const std::string& folder) {
  auto listed = disk.list(folder);
  if (!listed && listed.error().kind() == ErrorKind::kNotFound) return std::vector<DiskEntry>();
  return listed;
}

std::uint64_t size_of(const Disk& disk, const std::string& path) {
  const auto file = disk.open(path);
  const auto size = file ? (*file)->size() : Result<std::uint64_t>(file.error());
  return size ? *size : 0;
}

}  // namespace

Result<Votes> count_votes(const Disk& disk, const CheckpointId& id, std::uint32_t world_size) {
  const auto receipts = list_or_empty(disk, receipts_folder(id));
  if (!receipts) return receipts.error();
  const auto packs = list_or_empty(disk, packs_folder(id));
  if (!packs) return packs.error();
  std::set<std::string> found;
  for (const DiskEntry& entry : *receipts) found.insert(receipts_folder(id) + "/" + entry.name);
  Votes votes{.id = id, .files = receipts->size() + packs->size()};
  std::set<std::string> voted;
  for (std::uint32_t rank = 0; rank < world_size; ++rank) {
    if (!found.contains(receipt_path(id, Rank(rank))))
      votes.missing.emplace_back(rank);
    else
      voted.insert(pack_path(id, Rank(rank)));
  }
  std::size_t looked_at = 0;
  for (const DiskEntry& entry : *packs) {
    const std::string path = packs_folder(id) + "/" + entry.name;
    if (entry.is_folder || voted.contains(path) || looked_at == kMeasuredFilesMax) continue;
    ++looked_at;
    votes.unvoted_pack_bytes += size_of(disk, path);
  }
  return votes;
}

}  // namespace ratoon::checkpoint
