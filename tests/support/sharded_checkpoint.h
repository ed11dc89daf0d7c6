// A checkpoint of any tensors, cut into packs in any way that covers them, and its parts as bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ratoon/tensor_view.h>

#include "tests/support/pack_files.h"

namespace ratoon::test {

struct WholeTensor {
  std::string name;
  ElementType type = ElementType::kFloat32;
  TensorShape shape;
  std::string bytes;
};

using Cuts =
    std::vector<std::vector<std::uint64_t>>;  // of each dimension, where it is cut, from 0 to its size

// Bytes that differ from place to place and from tensor to tensor.
inline std::string any_bytes(std::uint64_t count, std::uint64_t seed) {
  std::string bytes(count, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

// The bytes of a box, element by element: a slow method that is easily seen to be right.
inline std::string bytes_of_box(const WholeTensor& tensor, const TensorShape& begin,
                                const TensorShape& shape) {
  std::string bytes;
  const std::size_t width = size_of(tensor.type);
  TensorShape at(shape.size());
  while (true) {
    std::uint64_t place = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 0) return bytes;
      place = place * tensor.shape[d] + begin[d] + at[d];
    }
    bytes.append(tensor.bytes, place * width, width);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return bytes;
  }
}

struct Box {
  TensorShape begin;
  TensorShape shape;
};

// All boxes of a grid.
inline std::vector<Box> boxes_of(const Cuts& cuts) {
  std::vector<Box> boxes = {{}};
  for (const auto& cut : cuts) {
    std::vector<Box> longer;
    for (const auto& box : boxes) {
      for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
        longer.push_back(box);
        longer.back().begin.push_back(cut[i]);
        longer.back().shape.push_back(cut[i + 1] - cut[i]);
      }
    }
    boxes = std::move(longer);
  }
  return boxes;
}

// Parts of tensors for packs; their bytes are stored here.
class PackShelf {
 public:
  // With `boxes_all` whole tensors have a box, too: ranks share them.
  explicit PackShelf(std::size_t packs, bool boxes_all = false) : boxes_all_(boxes_all), packs_(packs) {}

  void put(std::size_t pack, const WholeTensor& tensor, const Box& box) {
    packs_[pack].push_back(
        {tensor.name, tensor.type, box, tensor.shape, bytes_of_box(tensor, box.begin, box.shape)});
  }

  bool has(std::size_t pack, const std::string& name) const {
    return std::ranges::any_of(packs_[pack], [&](const Part& part) { return part.name == name; });
  }

  std::vector<PackFile> files() const {
    std::vector<PackFile> files;
    for (const auto& parts : packs_) {
      std::vector<TensorView> views;
      for (const auto& part : parts) {
        views.push_back(
            {.name = part.name, .type = part.type, .shape = part.box.shape, .bytes = bytes_of(part.bytes)});
        if (boxes_all_ || part.box.shape != part.whole)
          views.back().box = TensorBox{part.box.begin, part.whole};
      }
      files.push_back(make_pack("r" + std::to_string(files.size()), views));
    }
    return files;
  }

 private:
  struct Part {
    std::string name;
    ElementType type;
    Box box;
    TensorShape whole;
    std::string bytes;
  };
  bool boxes_all_;
  std::vector<std::vector<Part>> packs_;
};

}  // namespace ratoon::test
