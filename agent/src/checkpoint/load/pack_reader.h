// Reads a pack, a rank's file, and verifies everything in it against the pack's record in the manifest.
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

// The header of a pack whose file is closed again: a checkpoint may have more packs than a process may have
// open files.
struct KnownPack {
  std::string shown;  // for messages
  PackHeader header;
};

// Reads the header and checks it against the record. Returns kCorrupted also for a missing pack.
[[nodiscard]] Result<KnownPack> read_pack_header(const Disk& disk, const std::string& path,
                                                 const PackRecord& record);

class PackReader {
 public:
  // Does the same as read_pack_header(), and leaves the file open.
  [[nodiscard]] static Result<PackReader> open(const Disk& disk, const std::string& path,
                                               const PackRecord& record);

  [[nodiscard]] const std::string& shown() const { return shown_; }  // for messages

  [[nodiscard]] Result<LoadedTensors> read_all() const;

  // Reads all data once, in pieces, and compares each block with its checksum. `on_verified` is called with
  // the number of bytes verified since its last call.
  [[nodiscard]] Result<void> verify(const std::function<void(std::uint64_t)>& on_verified = {}) const;

  // header() and file() are for callers that read parts of the pack by a plan (pack/read_plan.h). Callers of
  // file() must verify the file's bytes against the header.
  [[nodiscard]] const PackHeader& header() const { return header_; }
  [[nodiscard]] const ReadFile& file() const { return *file_; }
  // Closes the file.
  [[nodiscard]] KnownPack close() && { return {.shown = std::move(shown_), .header = std::move(header_)}; }

 private:
  PackReader(std::unique_ptr<ReadFile> file, std::string shown, PackHeader header)
      : file_(std::move(file)), shown_(std::move(shown)), header_(std::move(header)) {}
  // Reads tensor `index` of the layout into memory of its size and compares it with its hash.
  [[nodiscard]] Result<void> read(std::size_t index, std::span<std::byte> into) const;
  [[nodiscard]] Error damaged(const std::string& where) const;

  std::unique_ptr<ReadFile> file_;
  std::string shown_;
  PackHeader header_;
};

}  // namespace ratoon::checkpoint
