#include "cli/checkpoint/tensor_stream.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/cover.h"
#include "agent/src/checkpoint/pack/read_plan.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

using checkpoint::Extent;
using checkpoint::IndexedTensor;
using checkpoint::PackHeader;

// Returns the pack's header with only the wanted tensors; the tensors keep their offsets and hashes.
PackHeader keep_tensors(const PackHeader& header, const std::function<bool(const std::string&)>& is_wanted) {
  PackHeader kept = header;
  kept.layout.tensors.clear();
  kept.hashes.clear();
  for (std::size_t i = 0; i < header.layout.tensors.size(); ++i) {
    if (!is_wanted(header.layout.tensors[i].name)) continue;
    kept.layout.tensors.push_back(header.layout.tensors[i]);
    kept.hashes.push_back(header.hashes[i]);
  }
  return kept;
}

// Returns whether the tensor is the state of a random generator ("generator:"), which differs by rank.
bool is_random_generator(const std::string& name) {
  return std::string_view(name).substr(name.rfind('.') + 1).starts_with("generator:");
}

// Removes the states of random generators that several ranks have, and returns their names.
std::vector<std::string> remove_random_generators(std::vector<PackHeader>& headers) {
  std::map<std::string, std::size_t> found;
  for (const PackHeader& header : headers)
    for (const auto& tensor : header.layout.tensors)
      if (is_random_generator(tensor.name)) ++found[tensor.name];
  std::erase_if(found, [](const auto& one) { return one.second < 2; });
  std::vector<std::string> names;
  for (const auto& [name, ranks] : found) names.push_back(name);
  for (PackHeader& header : headers)
    header = keep_tensors(header, [&](const std::string& name) { return !found.contains(name); });
  return names;
}

Error add_parts_option_hint(const Error& error) {
  return {
      error.kind(),
      error.message() + "; export one rank with --rank, or only the tensors that you name with --tensors"};
}

}  // namespace

Result<void> for_each_slab(
    const TensorShape& shape, std::uint64_t element_bytes, std::uint64_t bytes_max,
    const std::function<Result<void>(const TensorShape& begin, const TensorShape& shape)>& take) {
  // Each box has one index of every dimension before `axis`, as many indices of `axis` as fit into
  // `bytes_max`, and all indices of the dimensions after `axis`.
  std::size_t axis = shape.size();
  std::uint64_t row_bytes = element_bytes;
  while (axis > 0 && shape[axis - 1] <= bytes_max / row_bytes) {
    if (shape[axis - 1] == 0) break;
    row_bytes *= shape[--axis];
  }
  TensorShape begin(shape.size());
  if (axis == 0 || std::ranges::find(shape, 0u) != shape.end()) return take(begin, shape);
  --axis;
  const std::uint64_t rows = std::max<std::uint64_t>(1, bytes_max / row_bytes);
  TensorShape box = shape;
  std::fill(box.begin(), box.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  while (true) {
    for (begin[axis] = 0; begin[axis] < shape[axis]; begin[axis] += rows) {
      box[axis] = std::min(rows, shape[axis] - begin[axis]);
      if (auto taken = take(begin, box); !taken) return taken;
    }
    std::size_t d = axis;
    while (d > 0 && ++begin[d - 1] == shape[d - 1]) begin[--d] = 0;
    if (d == 0) return {};
  }
}

Result<TensorStream> TensorStream::make(const std::vector<OpenPack>& packs,
                                        const std::vector<std::string>& patterns, bool parts_as_they_are) {
  TensorStream stream;
  stream.packs_ = &packs;
  stream.headers_.reserve(packs.size());
  for (const OpenPack& pack : packs) {
    stream.headers_.push_back(keep_tensors(
        pack.reader.header(), [&](const std::string& name) { return matches_any(name, patterns); }));
  }
  stream.left_out_tensors_ = remove_random_generators(stream.headers_);
  std::vector<checkpoint::IndexedPack> indexed;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    PackHeader& header = stream.headers_[i];
    for (auto& tensor : header.layout.tensors) {
      if (!parts_as_they_are || !tensor.box || packs[i].is_part) continue;
      tensor.box.reset();
      ++stream.unjoined_parts_;
    }
    indexed.push_back({packs[i].name, &header.layout, header.hashes});
  }
  auto index = checkpoint::PartIndex::build(std::move(indexed));
  if (!index) return add_parts_option_hint(index.error());
  if (auto covered = check_cover(*index); !covered) return add_parts_option_hint(covered.error());
  stream.index_.emplace(*std::move(index));
  for (const IndexedTensor& tensor : stream.index_->tensors())
    stream.size_bytes_ += checkpoint::count_bytes(tensor.type, *tensor.whole_shape).value_or(0);
  return stream;
}

Result<void> TensorStream::read(const checkpoint::TensorSpec& box, std::span<std::byte> into) const {
  const auto plan = plan_reads(*index_, std::span(&box, 1), 0);
  if (!plan) return plan.error();
  std::vector<std::byte> bytes;
  for (const auto& reads : plan->packs) {
    const PackHeader& header = headers_[reads.pack];
    const OpenPack& pack = (*packs_)[reads.pack];
    for (const Extent& extent : reads.extents) {
      bytes.resize(extent.end - extent.begin);
      const auto read_once = [&]() -> Result<void> {
        if (auto got = pack.reader.file().read(header.layout.header_bytes + extent.begin, bytes); !got)
          return got;
        return verify_extent(header, extent, bytes);
      };
      const auto read =
          checkpoint::read_with_retry(read_once, [&] { pack.reader.file().drop_from_page_cache(); });
      if (!read) return read.error().with_context(pack.name);
      copy_extent(*plan, reads, extent, bytes, std::span(&into, 1));
    }
  }
  return {};
}

std::vector<checkpoint::TensorSource> TensorStream::sources(
    const std::function<void(std::uint64_t)>& on_read) const {
  std::vector<checkpoint::TensorSource> sources;
  for (const IndexedTensor& tensor : index_->tensors()) {
    const auto write = [this, &tensor, on_read](checkpoint::ByteSink& sink) {
      std::vector<std::byte> bytes;
      const auto take = [&](const TensorShape& begin, const TensorShape& shape) -> Result<void> {
        checkpoint::TensorSpec box{.name = std::string(tensor.name), .type = tensor.type, .shape = shape};
        if (shape != *tensor.whole_shape) box.box = TensorBox{begin, *tensor.whole_shape};
        bytes.resize(checkpoint::count_bytes(tensor.type, shape).value_or(0));
        if (auto got = read(box, bytes); !got) return got;
        if (on_read) on_read(bytes.size());
        return sink.append(bytes);
      };
      return for_each_slab(*tensor.whole_shape, size_of(tensor.type), kSlabBytesMax, take);
    };
    sources.push_back({.name = std::string(tensor.name),
                       .type = tensor.type,
                       .shape = *tensor.whole_shape,
                       .write = write});
  }
  return sources;
}

}  // namespace ratoon::cli
