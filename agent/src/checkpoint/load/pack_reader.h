// Reads a pack (the file that holds the tensors of one rank), and verifies its bytes by the digest of its
// header in the manifest.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/pack/header/header.h"

namespace ratoon::checkpoint {

struct LoadedTensor {
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};
  std::string bytes{};

  friend bool operator==(const LoadedTensor&, const LoadedTensor&) = default;
};
using LoadedTensors = std::map<std::string, LoadedTensor>;  // by name

// Reads the header of a pack and closes the file again: a checkpoint may have more packs than a process may
// have open files.
struct KnownPack {
  std::string shown;  // for messages
  PackHeader header;
};

// Reads the header of the pack and compares its digest with the pack's record in the manifest. Returns
// kCorrupted also if the pack file does not exist.
[[nodiscard]] Result<KnownPack> read_pack_header(const Disk& disk, const std::string& path,
                                                 const PackRecord& record);

class PackReader {
 public:
  // Reads and verifies the header as read_pack_header() does, and leaves the pack's file open.
  [[nodiscard]] static Result<PackReader> open(const Disk& disk, const std::string& path,
                                               const PackRecord& record);

  [[nodiscard]] const std::string& shown() const { return shown_; }  // for messages

  [[nodiscard]] Result<LoadedTensors> read_all() const;

  // Reads all data of the pack once, in pieces, and compares each block with its checksum in the header.
  // `on_verified` is called with the number of bytes verified since its last call.
  [[nodiscard]] Result<void> verify(const std::function<void(std::uint64_t)>& on_verified = {}) const;

  // Use header() and file() to read parts of the pack by a read plan (pack/read_plan.h). Callers of file()
  // must verify the bytes that they read by the checksums in the header.
  [[nodiscard]] const PackHeader& header() const { return header_; }
  [[nodiscard]] const ReadFile& file() const { return *file_; }
  // Closes the file.
  [[nodiscard]] KnownPack close() && { return {.shown = std::move(shown_), .header = std::move(header_)}; }

 private:
  PackReader(std::unique_ptr<ReadFile> file, std::string shown, PackHeader header)
      : file_(std::move(file)), shown_(std::move(shown)), header_(std::move(header)) {}
  // Reads tensor number `index` of the pack into `into`, which has the tensor's size, and compares the bytes
  // with the tensor's hash.
  [[nodiscard]] Result<void> read(std::size_t index, std::span<std::byte> into) const;
  [[nodiscard]] Error damaged(const std::string& where) const;

  std::unique_ptr<ReadFile> file_;
  std::string shown_;
  PackHeader header_;
};

}  // namespace ratoon::checkpoint
