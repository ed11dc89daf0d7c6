#include "agent/src/checkpoint/pack/strided_copy.h"

#include <algorithm>

#include "agent/src/checkpoint/staging/streaming_copy.h"

namespace ratoon::checkpoint {
namespace {

// The position in the nested loops over the rows of a copy: the index in each loop, and the row's offsets.
class RowCursor {
 public:
  RowCursor(const StridedCopy& copy, std::span<const CopyLoop> loops)
      : loops_(loops.subspan(copy.first_loop, copy.loop_count)),
        turns_(loops_.size()),
        from_(copy.from),
        to_(copy.to) {}

  std::uint64_t from() const { return from_; }
  std::uint64_t to() const { return to_; }

  // Moves to the first row that ends after `begin`; there must be such a row. In each loop, from the
  // outermost to the innermost, chooses the first iteration whose last row ends after `begin`.
  void seek(std::uint64_t begin, std::uint64_t row_bytes) {
    std::uint64_t inside = row_bytes;
    for (const auto& loop : loops_) inside += (loop.count - 1) * loop.from_stride;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      inside -= (loops_[i].count - 1) * loops_[i].from_stride;
      if (begin < from_ + inside) continue;
      turns_[i] = (begin - from_ - inside) / loops_[i].from_stride + 1;
      from_ += turns_[i] * loops_[i].from_stride;
      to_ += turns_[i] * loops_[i].to_stride;
    }
  }

  // Advances to the next row; returns false after the last row.
  bool advance() {
    for (std::size_t i = loops_.size(); i-- > 0;) {
      from_ += loops_[i].from_stride;
      to_ += loops_[i].to_stride;
      if (++turns_[i] < loops_[i].count) return true;
      turns_[i] = 0;
      from_ -= loops_[i].count * loops_[i].from_stride;
      to_ -= loops_[i].count * loops_[i].to_stride;
    }
    return false;
  }

 private:
  std::span<const CopyLoop> loops_;
  std::vector<std::uint64_t> turns_;
  std::uint64_t from_;
  std::uint64_t to_;
};

}  // namespace

StridedCopy make_copy(std::span<const std::uint64_t> shape, const BoxLayout& from, const BoxLayout& to,
                      std::uint64_t element_bytes, std::vector<CopyLoop>& loops) {
  StridedCopy copy{.from = from.first_byte, .to = to.first_byte, .row_bytes = element_bytes};
  std::vector<CopyLoop> nest;  // the innermost first
  CopyLoop step{.count = 1, .from_stride = element_bytes, .to_stride = element_bytes};
  for (std::size_t d = shape.size(); d-- > 0;) {
    copy.from += from.begin[d] * step.from_stride;
    copy.to += to.begin[d] * step.to_stride;
    step.count = shape[d];
    CopyLoop* const inner = nest.empty() ? nullptr : &nest.back();
    if (inner == nullptr && step.from_stride == copy.row_bytes && step.to_stride == copy.row_bytes) {
      copy.row_bytes *= step.count;
    } else if (inner != nullptr && step.from_stride == inner->count * inner->from_stride &&
               step.to_stride == inner->count * inner->to_stride) {
      inner->count *= step.count;
    } else if (step.count > 1) {
      nest.push_back(step);
    }
    step.from_stride *= from.outer[d];
    step.to_stride *= to.outer[d];
  }
  copy.first_loop = static_cast<std::uint32_t>(loops.size());
  copy.loop_count = static_cast<std::uint32_t>(nest.size());
  copy.source_end = copy.from + copy.row_bytes;
  for (const auto& loop : nest) copy.source_end += (loop.count - 1) * loop.from_stride;
  loops.insert(loops.end(), nest.rbegin(), nest.rend());
  return copy;
}

void copy_rows(const StridedCopy& copy, std::span<const CopyLoop> loops, std::uint64_t begin,
               std::span<const std::byte> bytes, std::span<std::byte> destination) {
  const std::uint64_t end = begin + bytes.size();
  if (copy.from >= end || copy.source_end <= begin) return;
  RowCursor row(copy, loops);
  row.seek(begin, copy.row_bytes);
  do {
    if (row.from() >= end) return;
    const std::uint64_t first = std::max(row.from(), begin);
    const std::uint64_t last = std::min(row.from() + copy.row_bytes, end);
    const auto target = destination.subspan(row.to() + (first - row.from()), last - first);
    copy_streaming(bytes.subspan(first - begin, target.size()), target.data());
  } while (row.advance());
}

}  // namespace ratoon::checkpoint
