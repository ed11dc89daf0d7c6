// checkpoint/disk/: The interface to the file system for the engine, and disks that add a timeout to the
// calls of another disk.
//
// Disk: all operations of a file system that the checkpoint engine uses, below one folder. The engine
// accesses files only through a Disk, so that tests can use a model that loses, tears and refuses writes as
// real disks do.
//
// A path consists of names separated by '/', relative to the folder:
// "packs/a0003/s0000001200/r0002.safetensors". Empty, absolute and dotted paths are refused, and links are
// not followed: nothing in the folder can lead outside it.
//
// A power cut preserves the bytes and length of a file after sync(), and the names in a folder after
// sync_folder(). A power cut may lose all that was not synced.
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

  // Asks for space before the first write: a full disk returns kNoSpace at this call and not at the end.
  // reserve() does not change the length of the file. File systems that cannot reserve space report success.
  [[nodiscard]] virtual Result<void> reserve(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) = 0;
  // An error is final: the system forgets which bytes it lost, and a second sync() would report success.
  [[nodiscard]] virtual Result<void> sync() = 0;
  // Some file systems report lost bytes only when the file is closed.
  [[nodiscard]] virtual Result<void> close() = 0;

  // Does the same as write(), for bytes that do not change until the file is renamed or removed: a file that
  // is kept in memory until then need not copy them.
  [[nodiscard]] virtual Result<void> lend(std::uint64_t at, std::span<const std::byte> bytes) {
    return write(at, bytes);
  }
  // Whether lend() copies nothing: callers then need not gather small pieces into large ones.
  [[nodiscard]] virtual bool lends_without_copy() const { return false; }
};

class ReadFile {
 public:
  virtual ~ReadFile() = default;

  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
  // Reads all of `bytes`, or returns an error.
  [[nodiscard]] virtual Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const = 0;
  // Reads `bytes` if the system holds all of them in memory; never waits for a disk. If the call returns
  // false, `bytes` may be partly filled.
  [[nodiscard]] virtual bool read_from_page_cache(std::uint64_t /*at*/,
                                                  std::span<std::byte> /*bytes*/) const {
    return false;
  }
  // Reads `count` bytes at offset `at`, a multiple of kDirectAlignment, into the beginning of `room`,
  // straight from the disk if possible: for large reads that do not recur soon. The read may also change
  // later bytes of `room`.
  [[nodiscard]] virtual Result<void> read_directly(std::uint64_t at, const ReadBuffer& room,
                                                   std::uint64_t count) const {
    return read(at, room.bytes().first(count));
  }
  // Asks that the next read comes from the disk and not from the system's page cache.
  virtual void forget() const = 0;
  // Announces that `bytes` bytes will be read soon, so that the disk may begin to read them. Does not wait.
  virtual void expect(std::uint64_t /*at*/, std::uint64_t /*bytes*/) const {}
};

struct DiskEntry {
  std::string name;
  bool is_folder = false;

  friend auto operator<=>(const DiskEntry&, const DiskEntry&) = default;
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Returns the path as messages show it: after the path of the folder.
  [[nodiscard]] virtual std::string shown(std::string_view path) const = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<WriteFile>> create(const std::string& path) = 0;  // a new file
  [[nodiscard]] virtual Result<std::unique_ptr<ReadFile>> open(const std::string& path) const = 0;
  // Gives kAlreadyExists if `to` exists. Atomic: of several renames to one name, exactly one succeeds.
  [[nodiscard]] virtual Result<void> rename_new(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;         // a file or link
  [[nodiscard]] virtual Result<void> remove_folder(const std::string& path) = 0;  // an empty folder
  [[nodiscard]] virtual Result<void> make_folder(const std::string& path) = 0;    // its parent must exist
  [[nodiscard]] virtual Result<void> sync_folder(const std::string& path) = 0;    // "": the folder itself
  [[nodiscard]] virtual Result<std::vector<DiskEntry>> list(const std::string& path) const = 0;  // sorted
};

// Checks that `path` consists of names separated by '/'.
[[nodiscard]] Result<void> check_path(std::string_view path);

// Returns "packs/a0003" for "packs/a0003/x", and "" for "x".
[[nodiscard]] std::string folder_of(std::string_view path);

}  // namespace ratoon::checkpoint
