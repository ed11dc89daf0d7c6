#include "agent/src/checkpoint/pack/header/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/header_json.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kFileBytesMax = std::numeric_limits<std::int64_t>::max();

Error refused_tensor(const TensorSpec& spec, const std::string& why) {
  return Error(ErrorKind::kInvalid, "tensor " + in_quotes(spec.name) + " cannot be saved: " + why);
}

Result<PackedTensor> place_tensor(const TensorSpec& spec, std::uint64_t begin) {
  if (!is_utf8(spec.name)) return refused_tensor(spec, "the name is not UTF-8; rename it");
  if (spec.name == kMetadataKey) return refused_tensor(spec, "safetensors reserves this name; rename it");
  if (spec.shape.size() > kDimensionsMax) {
    return refused_tensor(spec, "found " + std::to_string(spec.shape.size()) + " dimensions, and at most " +
                                    std::to_string(kDimensionsMax) + " can be kept");
  }
  const auto bytes = count_bytes(spec.type, spec.shape);
  if (!bytes || *bytes > kFileBytesMax - kHeaderJsonBytesMax - kDataAlignment - begin)
    return refused_tensor(spec, "a file cannot hold the shape " + to_text(spec.shape));
  if (spec.box) {
    if (!box_holds(*spec.box, spec.shape)) {
      return refused_tensor(
          spec, "a part of shape " + to_text(spec.shape) + " does not fit at " + to_text(*spec.box));
    }
    if (!count_bytes(spec.type, spec.box->whole_shape))
      return refused_tensor(spec, "the whole shape " + to_text(spec.box->whole_shape) + " overflows");
  }
  return PackedTensor{spec.name, spec.type, spec.shape, spec.box, begin, begin + *bytes};
}

}  // namespace

std::vector<std::size_t> data_order(std::span<const TensorSpec> specs) {
  std::vector<std::size_t> order(specs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const int rank_a = storage_order(specs[a].type);
    const int rank_b = storage_order(specs[b].type);
    return rank_a != rank_b ? rank_a > rank_b : specs[a].name < specs[b].name;
  });
  return order;
}

Result<PackLayout> place_tensors(std::span<const TensorSpec> specs) {
  PackLayout layout;
  layout.tensors.reserve(specs.size());
  std::unordered_set<std::string_view> names(specs.size());
  for (const std::size_t i : data_order(specs)) {
    if (!names.insert(specs[i].name).second)
      return refused_tensor(specs[i], "two tensors have this name; rename one of them");
    auto tensor = place_tensor(specs[i], layout.data_bytes);
    if (!tensor) return tensor.error();
    layout.data_bytes = tensor->end;
    layout.tensors.push_back(std::move(*tensor));
  }
  return layout;
}

Result<PackLayout> plan_pack(std::span<const TensorSpec> specs, std::string_view owner) {
  auto layout = place_tensors(specs);
  if (!layout) return layout;
  layout->owner = owner;
  const std::vector<std::uint32_t> crcs(layout->block_count());
  const std::vector<Hash128> hashes(specs.size());
  const std::uint64_t used = kHeaderLengthBytes + header_json(*layout, crcs, hashes).size();
  layout->header_bytes = (used + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  if (layout->header_bytes - kHeaderLengthBytes > kHeaderJsonBytesMax) {
    return Error(ErrorKind::kInvalid,
                 "a pack of " + std::to_string(specs.size()) + " tensors and " +
                     std::to_string(layout->data_bytes) + " bytes needs a header of " +
                     std::to_string(layout->header_bytes) + " bytes, and readers take at most " +
                     std::to_string(kHeaderJsonBytesMax) + "; divide it into several packs");
  }
  return layout;
}

}  // namespace ratoon::checkpoint
