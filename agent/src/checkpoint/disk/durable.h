// Writes, reads and moves whole files on a Disk, and creates folders, so that they survive a power cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

enum class Durability { kForNow, kPowerCuts };

// Returns true if a call failed with this error kind. Callers often treat kNotFound and kAlreadyExists as
// success.
[[nodiscard]] bool says(const Result<void>& result, ErrorKind kind);

// Creates a folder and its missing parents. With kPowerCuts the folders are durable when the call returns,
// even if another process has just created them and not synced them yet.
[[nodiscard]] Result<void> make_folders(Disk& disk, const std::string& path, Durability lasts);

// Creates a file under a temporary name that only this writer uses. If a file of this name exists, removes
// it, because a failed try of this writer left it. Never returns kAlreadyExists.
[[nodiscard]] Result<std::unique_ptr<WriteFile>> create_temporary(Disk& disk, const std::string& temporary);

// Writes a temporary file, syncs and closes it, renames it to `path`, which must not exist, and syncs the
// folder. `mark`, a text in the name of the temporary file, is unique to the writer, so that two writers
// never share a temporary file. If only the last sync of the folder failed, `path` may exist; after any other
// failure `path` is unchanged. A failed sync() is never repeated on the same file.
[[nodiscard]] Result<void> save_durably(Disk& disk, const std::string& path, std::string_view bytes,
                                        std::string_view mark);

// Writes the file without any sync. Use save_for_now() for files that other processes wait for and that are
// not needed after a power cut.
[[nodiscard]] Result<void> save_for_now(Disk& disk, const std::string& path, std::string_view bytes,
                                        std::string_view mark);

// Renames a written and closed file to its final name and syncs the folder.
[[nodiscard]] Result<void> publish(Disk& disk, const std::string& temporary, const std::string& path);

// Moves a file into another folder. `to` may exist already as a copy of the file. Copies the file and then
// removes the original: after a power cut the original, the copy or both exist.
[[nodiscard]] Result<void> move_durably(Disk& disk, const std::string& from, const std::string& to,
                                        std::uint64_t bytes_max, std::string_view mark);

// Returns the entries of a folder, or an empty list if the folder does not exist.
[[nodiscard]] Result<std::vector<DiskEntry>> list_if_there(const Disk& disk, const std::string& folder);

[[nodiscard]] Result<std::string> read_whole(const Disk& disk, const std::string& path,
                                             std::uint64_t bytes_max);

// Drops the file's bytes from the system's page cache if possible, so that the next read comes from the disk.
// Does nothing if the file cannot be opened.
void forget(const Disk& disk, const std::string& path);

// Calls `read` and returns its result. If `read` returns kCorrupted or kIo, calls `read` again and returns
// the second result: an intact disk may deliver damaged bytes once, and a checkpoint counts as damaged only
// if the second read fails, too. `before_again` is called between the two reads and makes sure that the
// second read comes from the disk, because the system may have cached the damaged bytes.
template <class Read, class BeforeAgain>
[[nodiscard]] auto read_twice(const Read& read, const BeforeAgain& before_again) {
  auto result = read();
  if (result || (result.error().kind() != ErrorKind::kCorrupted && result.error().kind() != ErrorKind::kIo))
    return result;
  before_again();
  return read();
}
// Reads one file as read_twice() does, and drops the file's cached bytes between the two reads.
template <class Read>
[[nodiscard]] auto read_file_twice(const Disk& disk, const std::string& path, const Read& read) {
  return read_twice(read, [&] { forget(disk, path); });
}

}  // namespace ratoon::checkpoint
