#include "agent/src/checkpoint/commit/rollback_files.h"

#include <algorithm>

#include "agent/src/checkpoint/disk/durable.h"

namespace ratoon::checkpoint {
namespace {

Result<Rollback> read_rollback(const Disk& disk, Attempt attempt) {
  const std::string path = rollback_path(attempt);
  return read_file_with_retry(disk, path, [&]() -> Result<Rollback> {
    const auto text = read_whole_file(disk, path, kRollbackBytesMax);
    if (!text) return text.error();
    auto rollback = decode_rollback(*text);
    if (!rollback) return rollback.error().with_context(disk.shown(path));
    if (rollback->attempt == attempt) return rollback;
    return Error(ErrorKind::kCorrupted,
                 disk.shown(path) + " holds the record of another attempt than its name says");
  });
}

Error add_rollback_advice(const Error& damage) {
  return {
      ErrorKind::kCorrupted,
      damage.message() +
          ": this file records the checkpoint to which the run went back (--resume-from). Without the record "
          "a start could resume from a checkpoint that the run gave up. If another place of the run, such "
          "as a store, has an undamaged copy, remove this file: the next start copies the "
          "record from there. If no place has a record of this rollback, the run resumes from the newest "
          "checkpoint in manifests/ after the removal; nothing was changed"};
}

}  // namespace

Result<std::vector<Rollback>> rollbacks_in(const Disk& disk) {
  const auto entries = list_if_there(disk, kRollbacks);
  if (!entries) return entries.error();
  std::vector<Rollback> all;
  for (const DiskEntry& entry : *entries) {
    const auto attempt = parse_rollback_name(entry.name);
    if (!attempt || entry.is_folder) continue;
    auto rollback = read_rollback(disk, *attempt);
    // kNotFound means that the record existed when the folder was listed, and that a run that starts over has
    // moved it away since then.
    if (!rollback && rollback.error().kind() == ErrorKind::kNotFound) continue;
    if (!rollback && rollback.error().kind() == ErrorKind::kCorrupted)
      return add_rollback_advice(rollback.error());
    if (!rollback) return rollback.error();
    all.push_back(*rollback);
  }
  std::sort(all.begin(), all.end(),
            [](const Rollback& a, const Rollback& b) { return a.attempt < b.attempt; });
  return all;
}

Result<void> record_rollback(Disk& disk, const Rollback& rollback, std::string_view mark) {
  if (auto made = make_folders(disk, kRollbacks, Durability::kSurvivesPowerCuts); !made) return made;
  const std::string path = rollback_path(rollback.attempt);
  const auto saved = save_durably(disk, path, encode_rollback(rollback), mark);
  if (saved || saved.error().kind() != ErrorKind::kAlreadyExists) return saved;
  const auto there = read_rollback(disk, rollback.attempt);
  if (!there) return there.error();
  if (*there != rollback)
    return Error(ErrorKind::kConflict,
                 disk.shown(path) +
                     " records another rollback: two runs save under one name; give each its own --run-name");
  // Sync the folder of the record: the process that wrote the record may have died before it synced the
  // folder.
  return disk.sync_folder(kRollbacks);
}

}  // namespace ratoon::checkpoint
