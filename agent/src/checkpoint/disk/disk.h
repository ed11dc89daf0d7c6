// checkpoint/disk/: The file system as the checkpoint engine uses it: the interface Disk, the real disk, and
// disks that add a timeout.
//
// Disk: all file operations that the checkpoint engine uses, on files below one folder. The engine accesses
// files only through a Disk, so that tests can replace the real disk by a simulated disk that loses writes,
// writes only parts, or refuses writes.
//
// A path consists of names separated by '/', relative to the folder:
// "packs/a0003/s0000001200/r0002.safetensors". Empty paths, absolute paths and paths with "." or ".." are
// refused, and links are not followed, so that no path leads outside the folder.
//
// A power cut preserves the bytes and length of a file after sync(), and the names in a folder after
// sync_folder(). A power cut may lose all bytes and names that were not synced.
//
// Thread contract: any thread may use a Disk. Only one thread at a time may use an open file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/read_buffer.h"

namespace ratoon::checkpoint {

// A new file that is being written. The destructor closes the file if it is still open, and ignores errors.
class WriteFile {
 public:
  virtual ~WriteFile() = default;

  // Reserves space before the first write, so that a full disk returns kNoSpace before any byte is written.
  // reserve() does not change the length of the file. File systems that cannot reserve space report success.
  [[nodiscard]] virtual Result<void> reserve(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) = 0;
  // Do not call sync() again after an error: the system forgets which bytes it lost, and a second sync()
  // would report success.
  [[nodiscard]] virtual Result<void> sync() = 0;
  // Do not ignore an error of close(), because some file systems report lost bytes only here.
  [[nodiscard]] virtual Result<void> close() = 0;

  // Writes bytes like write(), but the caller promises that the bytes do not change until the file is renamed
  // or removed. A file that is kept in memory therefore need not copy the bytes.
  [[nodiscard]] virtual Result<void> write_borrowed(std::uint64_t at, std::span<const std::byte> bytes) {
    return write(at, bytes);
  }
  // Returns true if write_borrowed() copies no bytes; callers then need not gather small pieces into large
  // ones before they write.
  [[nodiscard]] virtual bool lends_without_copy() const { return false; }
};

class ReadFile {
 public:
  virtual ~ReadFile() = default;

  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
  // Fills all of `bytes` from the file, or returns an error.
  [[nodiscard]] virtual Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const = 0;
  // Fills `bytes` and returns true if the page cache holds that part of the file; never waits for a disk. If
  // read_from_page_cache() returns false, `bytes` may be partly filled.
  [[nodiscard]] virtual bool read_from_page_cache(std::uint64_t /*at*/,
                                                  std::span<std::byte> /*bytes*/) const {
    return false;
  }
  // Reads `count` bytes at offset `at`, a multiple of kDirectAlignment, into the beginning of `room`.
  // Bypasses the page cache if possible. Use read_directly() for large reads that are not repeated soon.
  // read_directly() may also change bytes of `room` after the first `count` bytes.
  [[nodiscard]] virtual Result<void> read_directly(std::uint64_t at, const ReadBuffer& room,
                                                   std::uint64_t count) const {
    return read(at, room.bytes().first(count));
  }
  // Removes the file from the system's page cache if possible, so that the next read comes from the disk.
  virtual void drop_from_page_cache() const = 0;
  // Announces that `bytes` bytes will be read soon, so that the disk may begin to read them. Does not wait.
  virtual void start_read_ahead(std::uint64_t /*at*/, std::uint64_t /*bytes*/) const {}
};

struct DiskEntry {
  std::string name;
  bool is_folder = false;

  friend auto operator<=>(const DiskEntry&, const DiskEntry&) = default;
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Returns the path for error messages: the path of the disk's folder, followed by `path`.
  [[nodiscard]] virtual std::string shown(std::string_view path) const = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<WriteFile>> create(const std::string& path) = 0;  // a new file
  [[nodiscard]] virtual Result<std::unique_ptr<ReadFile>> open(const std::string& path) const = 0;
  // Renames a file to `to`, or returns kAlreadyExists if a file `to` exists already. The rename is atomic: of
  // several renames to one name, exactly one succeeds.
  [[nodiscard]] virtual Result<void> rename_no_replace(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;         // a file or link
  [[nodiscard]] virtual Result<void> remove_folder(const std::string& path) = 0;  // an empty folder
  [[nodiscard]] virtual Result<void> make_folder(const std::string& path) = 0;    // its parent must exist
  [[nodiscard]] virtual Result<void> sync_folder(const std::string& path) = 0;    // "": the folder itself
  [[nodiscard]] virtual Result<std::vector<DiskEntry>> list(const std::string& path) const = 0;  // sorted
};

// Checks that `path` consists of names separated by '/'.
[[nodiscard]] Result<void> check_path(std::string_view path);

// Returns the folder part of a path: "packs/a0003" for "packs/a0003/x", and "" for "x".
[[nodiscard]] std::string folder_of(std::string_view path);

}  // namespace ratoon::checkpoint
