// What the engine does to a Disk more than once: whole files and folders that survive a power cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

enum class Lasts { kForNow, kPowerCuts };

// Whether a call failed for this reason: that something is gone or there already is often no failure.
[[nodiscard]] bool says(const Result<void>& result, ErrorKind kind);

// Makes a folder and those above it that are missing. With kPowerCuts they are on the disk when it returns,
// also where another process made them a moment ago and has not synced them yet.
[[nodiscard]] Result<void> make_folders(Disk& disk, const std::string& path, Lasts lasts);

// A new file under a temporary name, which is its writer's own: what bears it already is left of a try that
// failed, and goes. Never kAlreadyExists.
[[nodiscard]] Result<std::unique_ptr<WriteFile>> create_temporary(Disk& disk, const std::string& temporary);

// Writes a temporary file, syncs and closes it, gives it its name, which must be a new one, syncs the folder.
// `mark` is the writer's own, so that two writers never share a temporary file. Where only the last sync of
// the folder failed, the name may be there; otherwise a failure leaves it as it was. A failed sync() is never
// tried again on that file.
[[nodiscard]] Result<void> save_durably(Disk& disk, const std::string& path, std::string_view bytes,
                                        std::string_view mark);

// The same for what others wait for and that nobody needs after a power cut: nothing is synced.
[[nodiscard]] Result<void> save_for_now(Disk& disk, const std::string& path, std::string_view bytes,
                                        std::string_view mark);

// Gives a written and closed file its name and syncs the folder.
[[nodiscard]] Result<void> publish(Disk& disk, const std::string& temporary, const std::string& path);

// A file of ours into another folder, under a name that may be there already. Copied and then removed: after
// a power cut there are both rather than none.
[[nodiscard]] Result<void> move_durably(Disk& disk, const std::string& from, const std::string& to,
                                        std::uint64_t bytes_max, std::string_view mark);

// Nothing where there is no such folder yet.
[[nodiscard]] Result<std::vector<DiskEntry>> list_if_there(const Disk& disk, const std::string& folder);

[[nodiscard]] Result<std::string> read_whole(const Disk& disk, const std::string& path,
                                             std::uint64_t bytes_max);

// Asks that the next read of this file comes from the disk. Where it cannot be opened there is nothing that
// is remembered of it.
void forget(const Disk& disk, const std::string& path);

// What `read` gives, or gives the second time: bytes may go wrong on their way from a sound disk, and a
// checkpoint is given up only for what stays wrong. `before_again` is called between the two, and sees to it
// that the second time comes from the disk: the system may remember what went wrong on the way.
template <class Read, class BeforeAgain>
[[nodiscard]] auto read_twice(const Read& read, const BeforeAgain& before_again) {
  auto result = read();
  if (result || (result.error().kind() != ErrorKind::kCorrupted && result.error().kind() != ErrorKind::kIo))
    return result;
  before_again();
  return read();
}
// The same of one file, of which nothing is remembered between the two.
template <class Read>
[[nodiscard]] auto read_file_twice(const Disk& disk, const std::string& path, const Read& read) {
  return read_twice(read, [&] { forget(disk, path); });
}

}  // namespace ratoon::checkpoint
