// Reading a pack: nothing of it is believed but through the record that the manifest holds.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

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

class PackReader {
 public:
  // Reads the header and checks it against the record. A pack that is not there is damage, too.
  [[nodiscard]] static Result<PackReader> open(const Disk& disk, const std::string& path,
                                               const PackRecord& record);

  [[nodiscard]] const PackLayout& layout() const { return header_.layout; }

  // Tensor `index` of the layout, into memory of its size; checked against its hash.
  [[nodiscard]] Result<void> read(std::size_t index, std::span<std::byte> into) const;
  [[nodiscard]] Result<LoadedTensors> read_all() const;

  // Reads all data once, in pieces, against the sums of its blocks.
  [[nodiscard]] Result<void> verify() const;

 private:
  PackReader(std::unique_ptr<ReadFile> file, std::string shown, PackHeader header)
      : file_(std::move(file)), shown_(std::move(shown)), header_(std::move(header)) {}
  [[nodiscard]] Error damaged(const std::string& where) const;

  std::unique_ptr<ReadFile> file_;
  std::string shown_;
  PackHeader header_;
};

}  // namespace ratoon::checkpoint
