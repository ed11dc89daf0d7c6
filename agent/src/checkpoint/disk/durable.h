// Writes, reads and moves whole files on a Disk, and creates folders, so that they survive a power cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

enum class Durability { kNotDurable, kSurvivesPowerCuts };

// Returns true if a call failed with this error kind. Callers often treat kNotFound and kAlreadyExists as
// success.
[[nodiscard]] bool failed_with(const Result<void>& result, ErrorKind kind);

// Creates a folder and its missing parents. With kSurvivesPowerCuts the folders are durable when
// make_folders() returns, even if another process has just created them and not synced them yet.
[[nodiscard]] Result<void> make_folders(Disk& disk, const std::string& path, Durability lasts);

// Creates a file under a temporary name that only this writer uses. If a file of this name exists, removes
// it, because a failed try of this writer left it. Never returns kAlreadyExists.
[[nodiscard]] Result<std::unique_ptr<WriteFile>> create_temporary(Disk& disk, const std::string& temporary);

// Writes a temporary file, syncs and closes it, renames it to `path`, which must not exist, and syncs the
// folder. `mark`, a text in the temporary file's name, is unique to the writer: two writers never share a
// temporary file. If only the sync of the folder failed, `path` may exist; after any other failure `path` is
// unchanged. A failed sync() is never repeated: a second sync() may succeed although bytes are lost.
[[nodiscard]] Result<void> save_durably(Disk& disk, const std::string& path, std::string_view bytes,
                                        std::string_view mark);

// Writes the file without any sync. Use save_without_sync() for files that other processes wait for and that
// are not needed after a power cut.
[[nodiscard]] Result<void> save_without_sync(Disk& disk, const std::string& path, std::string_view bytes,
                                             std::string_view mark);

// Renames a written and closed file to its final name and syncs the folder.
[[nodiscard]] Result<void> rename_durably(Disk& disk, const std::string& temporary, const std::string& path);

// Moves a file into another folder. `to` may exist already as a copy of the file. Removes the original only
// after the copy is durable: after a power cut the original, the copy or both exist.
[[nodiscard]] Result<void> move_durably(Disk& disk, const std::string& from, const std::string& to,
                                        std::uint64_t bytes_max, std::string_view mark);

// Returns the entries of a folder, or an empty list if the folder does not exist.
[[nodiscard]] Result<std::vector<DiskEntry>> list_if_there(const Disk& disk, const std::string& folder);

// Returns true if no file has this path. Returns false if a file has this path, or if the disk returns an
// error other than kNotFound.
[[nodiscard]] bool is_file_missing(const Disk& disk, const std::string& path);

[[nodiscard]] Result<std::string> read_whole_file(const Disk& disk, const std::string& path,
                                                  std::uint64_t bytes_max);

// Drops the file's bytes from the system's page cache if possible, so that the next read comes from the disk.
// Does nothing if the file cannot be opened.
void drop_from_page_cache(const Disk& disk, const std::string& path);

// Calls `read` and returns its result. If `read` returns kCorrupted or kIo, calls `read` again and returns
// the second result: an intact disk may deliver damaged bytes once. A checkpoint counts as damaged only if
// the second read fails, too. `before_retry` is called between the two reads and makes sure that the second
// read comes from the disk, because the system may have cached the damaged bytes.
template <class Read, class BeforeRetry>
[[nodiscard]] auto read_with_retry(const Read& read, const BeforeRetry& before_retry) {
  auto result = read();
  if (result || (result.error().kind() != ErrorKind::kCorrupted && result.error().kind() != ErrorKind::kIo))
    return result;
  before_retry();
  return read();
}
// Reads one file as read_with_retry() does, and drops the file's cached bytes between the two reads.
template <class Read>
[[nodiscard]] auto read_file_with_retry(const Disk& disk, const std::string& path, const Read& read) {
  return read_with_retry(read, [&] { drop_from_page_cache(disk, path); });
}

}  // namespace ratoon::checkpoint
