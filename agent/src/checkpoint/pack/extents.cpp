#include "agent/src/checkpoint/pack/extents.h"

#include <algorithm>

namespace ratoon::checkpoint {
namespace {

// A tensor of up to 4 MiB lies in one extent, so that one thread can hash it. A larger tensor is verified by
// the checksums of its blocks; reading the whole first and last block adds at most 1.6 % to its bytes. An
// extent that would end inside a tensor that is verified by its hash ends before this tensor. Such an extent
// still contains a whole tensor, because the maximum size of an extent is more than the size of two tensors
// of 4 MiB.
constexpr std::uint64_t kHashedBytesMax = 4 * 1024 * 1024;
static_assert(2 * kHashedBytesMax + 3 * kPackBlockBytes < kExtentBytesMax);

// A gap between two ranges is read, not skipped, if it is at most one page long, or short compared with the
// range before the gap.
constexpr std::uint64_t kGapBytesAlwaysRead = 4096;
constexpr std::uint64_t kGapBytesMax = 64 * 1024;
constexpr std::uint64_t kGapRangeDivisor = 32;

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::uint64_t block_floor(std::uint64_t byte) {
  return byte / kPackBlockBytes * kPackBlockBytes;
}

std::uint64_t block_ceil(std::uint64_t byte, std::uint64_t data_bytes) {
  return std::min(data_bytes, block_floor(byte + kPackBlockBytes - 1));
}

// Computes the ranges of the blocks that contain the rows of copies. Rows with a gap of less than one block
// between them are in one range, because the gap contains no whole block that could be skipped.
class TouchedBlocks {
 public:
  TouchedBlocks(std::span<const CopyLoop> loops, std::uint64_t data_bytes)
      : loops_(loops), data_bytes_(data_bytes) {}

  void add(const StridedCopy& copy) {
    nest_ = loops_.subspan(copy.first_loop, copy.loop_count);
    add_level(copy.from, 0, copy.row_bytes);
  }

  std::vector<Range>& ranges() { return ranges_; }

 private:
  void add_level(std::uint64_t begin, std::size_t level, std::uint64_t row_bytes) {
    std::uint64_t bytes = row_bytes;
    for (std::size_t i = level; i < nest_.size(); ++i) bytes += (nest_[i].count - 1) * nest_[i].from_stride;
    if (is_dense(level, row_bytes))
      return add_range({block_floor(begin), block_ceil(begin + bytes, data_bytes_)});
    for (std::uint64_t turn = 0; turn < nest_[level].count; ++turn)
      add_level(begin + turn * nest_[level].from_stride, level + 1, row_bytes);
  }

  bool is_dense(std::size_t level, std::uint64_t row_bytes) const {
    std::uint64_t inside = row_bytes;
    for (std::size_t i = nest_.size(); i-- > level;) {
      if (nest_[i].from_stride - inside >= kPackBlockBytes) return false;
      inside += (nest_[i].count - 1) * nest_[i].from_stride;
    }
    return true;
  }

  void add_range(Range range) {
    if (!ranges_.empty() && ranges_.back().begin <= range.begin && range.begin <= ranges_.back().end)
      ranges_.back().end = std::max(ranges_.back().end, range.end);
    else
      ranges_.push_back(range);
  }

  std::span<const CopyLoop> loops_;
  std::span<const CopyLoop> nest_;
  std::uint64_t data_bytes_;
  std::vector<Range> ranges_;
};

std::uint64_t bytes_of(const StridedCopy& copy, std::span<const CopyLoop> loops) {
  std::uint64_t bytes = copy.row_bytes;
  for (const auto& loop : loops.subspan(copy.first_loop, copy.loop_count)) bytes *= loop.count;
  return bytes;
}

std::uint64_t total_range_bytes(std::span<const Range> ranges) {
  std::uint64_t bytes = 0;
  for (const auto& range : ranges) bytes += range.end - range.begin;
  return bytes;
}

// The ranges of the pack that must be read for the copies of one tensor. A small tensor is read whole if it
// has no more bytes than the blocks that contain the wanted rows.
struct TensorReads {
  std::vector<Range> ranges;
  bool can_be_hashed = false;
};

TensorReads reads_of_tensor(const PackedTensor& tensor, std::span<const WantedCopy> copies,
                            std::span<const CopyLoop> loops, std::uint64_t data_bytes) {
  const std::uint64_t bytes = tensor.end - tensor.begin;
  const bool is_whole =
      std::ranges::any_of(copies, [&](const WantedCopy& one) { return bytes_of(one.copy, loops) == bytes; });
  if (is_whole && bytes > kHashedBytesMax)
    return {.ranges = {{block_floor(tensor.begin), block_ceil(tensor.end, data_bytes)}}};
  const TensorReads whole{.ranges = {{tensor.begin, tensor.end}}, .can_be_hashed = true};
  if (is_whole) return whole;
  TouchedBlocks touched(loops, data_bytes);
  for (const auto& one : copies) touched.add(one.copy);
  if (bytes <= kHashedBytesMax && bytes <= total_range_bytes(touched.ranges())) return whole;
  return {.ranges = std::move(touched.ranges())};
}

void merge_close_ranges(std::vector<Range>& ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::size_t kept = 0;
  for (const Range& range : ranges) {
    Range* const last = kept == 0 ? nullptr : &ranges[kept - 1];
    if (last != nullptr) {
      const std::uint64_t gap = range.begin > last->end ? range.begin - last->end : 0;
      const std::uint64_t tolerated =
          std::max(kGapBytesAlwaysRead, std::min(kGapBytesMax, (last->end - last->begin) / kGapRangeDivisor));
      if (gap <= tolerated) {
        last->end = std::max(last->end, range.end);
        continue;
      }
    }
    ranges[kept++] = range;
  }
  ranges.resize(kept);
}

// Returns the bytes of the blocks that lie completely in the range; if there are none, begin == end.
Range whole_blocks(const Range& range, std::uint64_t data_bytes) {
  const std::uint64_t begin = block_ceil(range.begin, data_bytes);
  const std::uint64_t end = range.end == data_bytes ? data_bytes : block_floor(range.end);
  return begin < end ? Range{begin, end} : Range{begin, begin};
}

// Returns, by ascending position, the tensors of the range that must be verified by their hash. `hashable`
// contains only small tensors. A tensor that is inside the whole blocks of the range is verified by the
// checksums of these blocks and needs no hash.
std::vector<std::uint32_t> tensors_to_verify_by_hash(const Range& range,
                                                     std::span<const std::uint32_t> hashable,
                                                     const PackLayout& layout) {
  const Range blocks = whole_blocks(range, layout.data_bytes);
  std::vector<std::uint32_t> hashed;
  for (const std::uint32_t number : hashable) {
    const PackedTensor& tensor = layout.tensors[number];
    if (tensor.begin < blocks.begin || tensor.end > blocks.end) hashed.push_back(number);
  }
  return hashed;
}

// Returns the end of the extent that begins at `begin`. An extent is a range that is read at once. The end of
// an extent is a block boundary that is not inside a hashed tensor.
std::uint64_t extent_end(std::uint64_t begin, const Range& range, std::span<const std::uint32_t> hashed,
                         const PackLayout& layout) {
  if (range.end - begin <= kExtentBytesMax) return range.end;
  std::uint64_t end = block_floor(begin + kExtentBytesMax);
  for (const std::uint32_t number : hashed) {
    const PackedTensor& tensor = layout.tensors[number];
    if (tensor.begin < end && end < tensor.end) end = block_floor(tensor.begin);
  }
  return end;
}

// Removes from the beginning of the list all elements for which `is_before` returns true, and returns them.
template <class T, class IsBefore>
std::span<const T> take_while(std::span<const T>& list, IsBefore is_before) {
  const auto count = static_cast<std::size_t>(std::ranges::find_if_not(list, is_before) - list.begin());
  const auto taken = list.first(count);
  list = list.subspan(count);
  return taken;
}

class ExtentMaker {
 public:
  ExtentMaker(const PackLayout& layout, std::span<const WantedCopy> copies)
      : layout_(layout), copies_(copies) {}

  void add(const Range& range, std::span<const std::uint32_t> hashable) {
    auto hashed = tensors_to_verify_by_hash(range, hashable, layout_);
    std::span<const std::uint32_t> left = hashed;
    for (std::uint64_t begin = range.begin; begin < range.end;) {
      Extent extent{.begin = begin, .end = extent_end(begin, range, left, layout_)};
      const auto mine =
          take_while(left, [&](std::uint32_t i) { return layout_.tensors[i].end <= extent.end; });
      extent.hashed.assign(mine.begin(), mine.end());
      add_copies(extent);
      add_blocks(extent);
      begin = extent.end;
      extents_.push_back(std::move(extent));
    }
  }

  std::vector<Extent> take() && { return std::move(extents_); }

 private:
  // The copies are sorted by the position of their first byte in the pack. One copy can be longer than an
  // extent, and then reads from several extents.
  void add_copies(Extent& extent) {
    std::erase_if(open_, [&](std::uint32_t i) { return copies_[i].copy.source_end <= extent.begin; });
    for (; next_ < copies_.size() && copies_[next_].copy.from < extent.end; ++next_)
      open_.push_back(static_cast<std::uint32_t>(next_));
    extent.copies = open_;
  }

  // If every tensor that is copied is verified by its hash, the checksums of the blocks are not computed.
  void add_blocks(Extent& extent) const {
    const auto is_hashed = [&](std::uint32_t i) {
      return std::ranges::binary_search(extent.hashed, copies_[i].tensor);
    };
    if (std::ranges::all_of(extent.copies, is_hashed)) return;
    const Range blocks = whole_blocks({extent.begin, extent.end}, layout_.data_bytes);
    extent.first_block = blocks.begin / kPackBlockBytes;
    extent.block_count = (blocks.end - blocks.begin + kPackBlockBytes - 1) / kPackBlockBytes;
  }

  const PackLayout& layout_;
  std::span<const WantedCopy> copies_;
  std::size_t next_ = 0;
  std::vector<std::uint32_t> open_;
  std::vector<Extent> extents_;
};

}  // namespace

std::vector<Extent> make_extents(const PackLayout& layout, std::vector<WantedCopy>& copies,
                                 std::span<const CopyLoop> loops) {
  std::ranges::sort(copies, {}, &WantedCopy::tensor);
  std::vector<Range> ranges;
  std::vector<std::uint32_t> hashable;
  for (std::span<const WantedCopy> left = copies; !left.empty();) {
    const std::uint32_t number = left.front().tensor;
    const auto mine = take_while(left, [&](const WantedCopy& one) { return one.tensor == number; });
    const TensorReads reads = reads_of_tensor(layout.tensors[number], mine, loops, layout.data_bytes);
    ranges.insert(ranges.end(), reads.ranges.begin(), reads.ranges.end());
    if (reads.can_be_hashed) hashable.push_back(number);
  }
  merge_close_ranges(ranges);
  std::ranges::sort(copies, {}, [](const WantedCopy& one) { return one.copy.from; });

  ExtentMaker maker(layout, copies);
  std::span<const std::uint32_t> left = hashable;
  for (const Range& range : ranges)
    maker.add(range, take_while(left, [&](std::uint32_t i) { return layout.tensors[i].begin < range.end; }));
  return std::move(maker).take();
}

}  // namespace ratoon::checkpoint
