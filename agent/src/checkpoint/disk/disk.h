// Disk: all that the checkpoint engine asks of a file system, below one folder. The engine sees files through
// this alone, so that tests can put a model behind it that forgets, tears and refuses as real disks do.
//
// A path is made of names and '/', relative to the folder: "packs/a0003/s0000001200/r0002.safetensors".
// Empty, absolute and dotted ones are refused, and no link is followed: what somebody put into the folder
// cannot lead us out of it.
//
// What survives a power cut: bytes and length of a file after sync(); the names in a folder after
// sync_folder(). Nothing else.
//
// Thread contract: a Disk from any thread; an open file from one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/read_room.h"

namespace ratoon::checkpoint {

// A new file that is being written. Closed by its destructor at the latest, then without a word.
class WriteFile {
 public:
  virtual ~WriteFile() = default;

  // Asks for room before the first byte comes: kNoSpace here instead of at the end. The length stays what it
  // was; file systems that cannot say so say yes.
  [[nodiscard]] virtual Result<void> reserve(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) = 0;
  // An error is final: the system has forgotten which bytes it lost, and a second call would say yes.
  [[nodiscard]] virtual Result<void> sync() = 0;
  // Some file systems report only now what they lost.
  [[nodiscard]] virtual Result<void> close() = 0;

  // write(), of bytes that stay as they are until the file has its name or is removed: a file that lies in
  // memory until then need not copy them.
  [[nodiscard]] virtual Result<void> lend(std::uint64_t at, std::span<const std::byte> bytes) {
    return write(at, bytes);
  }
  // Whether lend() copies nothing, so that small pieces need not be gathered for it.
  [[nodiscard]] virtual bool borrows() const { return false; }
};

class ReadFile {
 public:
  virtual ~ReadFile() = default;

  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
  // All of them, or an error.
  [[nodiscard]] virtual Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const = 0;
  // Reads what needs no disk, since the system has all of it in memory; never waits for one. After false,
  // `bytes` may be filled in part.
  [[nodiscard]] virtual bool read_remembered(std::uint64_t /*at*/, std::span<std::byte> /*bytes*/) const {
    return false;
  }
  // Reads the first `count` bytes of `room` from `at` on, a multiple of kDirectAlignment, and straight from
  // the disk where that can be done: for many bytes that nobody else reads soon. What is behind them in the
  // room is changed, too.
  [[nodiscard]] virtual Result<void> read_directly(std::uint64_t at, const ReadRoom& room,
                                                   std::uint64_t count) const {
    return read(at, room.bytes().first(count));
  }
  // Asks that what comes next is read from the disk, not from what the system remembers of it.
  virtual void forget() const = 0;
  // Says that these bytes are read soon: the disk may begin with them, and nobody waits.
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

  // What messages call a path: with the folder before it.
  [[nodiscard]] virtual std::string shown(std::string_view path) const = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<WriteFile>> create(const std::string& path) = 0;  // a new one
  [[nodiscard]] virtual Result<std::unique_ptr<ReadFile>> open(const std::string& path) const = 0;
  // kAlreadyExists if there is something of the new name, decided at one moment against all others.
  [[nodiscard]] virtual Result<void> rename_new(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;         // a file or link
  [[nodiscard]] virtual Result<void> remove_folder(const std::string& path) = 0;  // an empty one
  [[nodiscard]] virtual Result<void> make_folder(const std::string& path) = 0;    // whose parent is there
  [[nodiscard]] virtual Result<void> sync_folder(const std::string& path) = 0;    // "": the folder itself
  [[nodiscard]] virtual Result<std::vector<DiskEntry>> list(const std::string& path) const = 0;  // by name
};

// Whether `path` is made of names alone.
[[nodiscard]] Result<void> check_path(std::string_view path);

// "packs/a0003" of "packs/a0003/x"; "" of "x".
[[nodiscard]] std::string folder_of(std::string_view path);

}  // namespace ratoon::checkpoint
