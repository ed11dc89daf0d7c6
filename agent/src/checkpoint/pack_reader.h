// Reading a pack: nothing of it is believed but through the record that the manifest holds.
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
#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/pack/header.h"

namespace ratoon::checkpoint {

struct LoadedTensor {
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};
  std::string bytes{};

  friend bool operator==(const LoadedTensor&, const LoadedTensor&) = default;
};
using LoadedTensors = std::map<std::string, LoadedTensor>;  // by name

// What is known of a pack whose file is not open any more: a checkpoint may have more packs than a process
// may have files open.
struct KnownPack {
  std::string shown;  // as messages call it
  PackHeader header;
};

// Reads the header and checks it against the record. A pack that is not there is damage, too.
[[nodiscard]] Result<KnownPack> look_at_pack(const Disk& disk, const std::string& path,
                                             const PackRecord& record);

class PackReader {
 public:
  // As look_at_pack(); the file stays open.
  [[nodiscard]] static Result<PackReader> open(const Disk& disk, const std::string& path,
                                               const PackRecord& record);

  [[nodiscard]] const std::string& shown() const { return shown_; }  // as messages call it

  [[nodiscard]] Result<LoadedTensors> read_all() const;

  // Reads all data once, in pieces, against the sums of its blocks. `on_verified` is told how many bytes were
  // right since it was told last.
  [[nodiscard]] Result<void> verify(const std::function<void(std::uint64_t)>& on_verified = {}) const;

  // For who reads parts of it by a plan (pack/read_plan.h): nothing of the file is believed but through the
  // header.
  [[nodiscard]] const PackHeader& header() const { return header_; }
  [[nodiscard]] const ReadFile& file() const { return *file_; }
  // Closes it.
  [[nodiscard]] KnownPack close() && { return {.shown = std::move(shown_), .header = std::move(header_)}; }

 private:
  PackReader(std::unique_ptr<ReadFile> file, std::string shown, PackHeader header)
      : file_(std::move(file)), shown_(std::move(shown)), header_(std::move(header)) {}
  // Tensor `index` of the layout, into memory of its size; checked against its hash.
  [[nodiscard]] Result<void> read(std::size_t index, std::span<std::byte> into) const;
  [[nodiscard]] Error damaged(const std::string& where) const;

  std::unique_ptr<ReadFile> file_;
  std::string shown_;
  PackHeader header_;
};

}  // namespace ratoon::checkpoint
