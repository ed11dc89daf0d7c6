// Reads a pack (the file that holds the tensors of one rank) and verifies it: the manifest has the digest of
// the pack's header, and the header has checksums of all other bytes.
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
struct NamedPackHeader {
  std::string shown;  // for messages
  PackHeader header;
};

// Reads the header of the pack and compares its digest with the pack's record in the manifest. Returns
// kCorrupted also if the pack file does not exist.
[[nodiscard]] Result<NamedPackHeader> read_pack_header(const Disk& disk, const std::string& path,
                                                       const PackRecord& record);

class PackReader {
 public:
  // Reads and verifies the header as read_pack_header() does, and leaves the pack's file open.
  [[nodiscard]] static Result<PackReader> open(const Disk& disk, const std::string& path,
                                               const PackRecord& record);

  // Opens a part file, which is a pack that holds one part of a tensor. The header of the returned reader
  // says which part of the whole tensor the file has.
  [[nodiscard]] static Result<PackReader> open_part(const Disk& disk, const TensorInParts& tensor,
                                                    std::size_t part, const std::string& owner);

  [[nodiscard]] const std::string& shown() const { return display_path_; }  // for messages

  [[nodiscard]] Result<LoadedTensors> read_all() const;

  // Reads all data of the pack once, in pieces, and compares each block with its checksum in the header.
  // `on_verified` is called with the number of bytes verified since its last call.
  [[nodiscard]] Result<void> verify(const std::function<void(std::uint64_t)>& on_verified = {}) const;

  // Use header() and file() to read parts of the pack according to a read plan (pack/read_plan.h). If you
  // read bytes with file(), verify them with the checksums in the header.
  [[nodiscard]] const PackHeader& header() const { return header_; }
  [[nodiscard]] const ReadFile& file() const { return *file_; }
  // Closes the file.
  [[nodiscard]] NamedPackHeader close() && {
    return {.shown = std::move(display_path_), .header = std::move(header_)};
  }

 private:
  PackReader(std::unique_ptr<ReadFile> file, std::string shown, PackHeader header)
      : file_(std::move(file)), display_path_(std::move(shown)), header_(std::move(header)) {}
  // Reads tensor number `index` of the pack into `into`, which has the tensor's size, and compares the bytes
  // with the tensor's hash.
  [[nodiscard]] Result<void> read(std::size_t index, std::span<std::byte> into) const;
  [[nodiscard]] Error damaged_pack_error(const std::string& where) const;

  std::unique_ptr<ReadFile> file_;
  std::string display_path_;
  PackHeader header_;
};

}  // namespace ratoon::checkpoint
