#include "agent/src/checkpoint/pack/tiling.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ratoon::checkpoint {
namespace {

using Indices = std::span<const std::uint64_t>;

bool is_empty(const BoxList& boxes, std::size_t box) {
  for (std::size_t d = 0; d < boxes.dimensions(); ++d) {
    if (boxes.begin(box, d) >= boxes.end(box, d)) return true;
  }
  return false;
}

// The cover function gives, for each element, the number of boxes that cover the element. The mixed
// difference of a cover function over all dimensions is zero except at the corners of boxes, where it is +1
// or -1. Two cover functions are equal exactly if their mixed differences are equal. The boxes tile the
// region exactly if the corner values of all boxes add up to the corner values of the region. Points are
// visited in row-major order. At the first point where the +1 and -1 values have a sum other than 0, the
// tiling has a fault. A positive sum is the number of surplus boxes that cover the element at this point. A
// negative sum is the number of missing boxes.
class Corners {
 public:
  explicit Corners(std::vector<std::size_t> dimensions) : dimensions_(std::move(dimensions)) {}

  // `at(dimension, is_end)` returns the first index of the box in this dimension. If `is_end` is true, it
  // returns the index after the last index of the box.
  template <class Side>
  void add(Side at, std::int64_t weight) {
    for (std::uint64_t ends = 0; ends < (std::uint64_t{1} << dimensions_.size()); ++ends) {
      for (std::size_t i = 0; i < dimensions_.size(); ++i)
        points_.push_back(at(dimensions_[i], (ends >> i & 1) != 0));
      weights_.push_back(std::popcount(ends) % 2 == 0 ? weight : -weight);
    }
  }

  // The first point whose corner values (+1 and -1) have a sum other than 0, and this sum.
  struct Rest {
    Indices point;
    std::int64_t weight;
  };
  std::optional<Rest> first_rest() const {
    std::vector<std::size_t> order(weights_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto by_point = [this](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(point(a), point(b));
    };
    std::ranges::sort(order, by_point);
    for (std::size_t i = 0; i < order.size();) {
      std::int64_t weight = 0;
      const std::size_t first = order[i];
      for (; i < order.size() && std::ranges::equal(point(order[i]), point(first)); ++i)
        weight += weights_[order[i]];
      if (weight != 0) return Rest{point(first), weight};
    }
    return std::nullopt;
  }

  const std::vector<std::size_t>& dimensions() const { return dimensions_; }

 private:
  Indices point(std::size_t corner) const {
    return Indices(points_).subspan(corner * dimensions_.size(), dimensions_.size());
  }

  std::vector<std::size_t> dimensions_;  // dimensions that any box is cut along
  std::vector<std::uint64_t> points_;
  std::vector<std::int64_t> weights_;
};

std::vector<std::size_t> cut_dimensions(const BoxList& boxes, std::span<const std::size_t> filled,
                                        Indices begin, Indices end) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    const auto is_cut = [&](std::size_t box) {
      return boxes.begin(box, d) != begin[d] || boxes.end(box, d) != end[d];
    };
    if (std::ranges::any_of(filled, is_cut)) dimensions.push_back(d);
  }
  return dimensions;
}

// Returns true if the boxes, in this order, tile a region that is divided along only one dimension `d`, as in
// most checkpoints. tiles_one_dimension() is faster than a check with Corners.
bool tiles_one_dimension(const BoxList& boxes, std::span<const std::size_t> filled, std::size_t d,
                         std::uint64_t begin, std::uint64_t end) {
  for (const std::size_t box : filled) {
    if (boxes.begin(box, d) != begin) return false;
    begin = boxes.end(box, d);
  }
  return begin == end;
}

}  // namespace

void BoxList::add(Indices begin, Indices end) {
  corners_.insert(corners_.end(), begin.begin(), begin.end());
  corners_.insert(corners_.end(), end.begin(), end.end());
  ++size_;
}

std::optional<TilingFault> find_tiling_fault(const BoxList& boxes, Indices region_begin, Indices region_end) {
  BoxList region(boxes.dimensions());
  region.add(region_begin, region_end);
  if (is_empty(region, 0)) return std::nullopt;

  std::vector<std::size_t> filled;
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    if (!is_empty(boxes, box)) filled.push_back(box);
  }
  Corners corners(cut_dimensions(boxes, filled, region_begin, region_end));
  const auto& cut = corners.dimensions();
  if (cut.size() == 1 && tiles_one_dimension(boxes, filled, cut[0], region_begin[cut[0]], region_end[cut[0]]))
    return std::nullopt;

  const auto add = [&corners](const BoxList& list, std::size_t box, std::int64_t weight) {
    corners.add([&](std::size_t d, bool is_end) { return is_end ? list.end(box, d) : list.begin(box, d); },
                weight);
  };
  for (const std::size_t box : filled) add(boxes, box, 1);
  add(region, 0, -1);
  const auto rest = corners.first_rest();
  if (!rest) return std::nullopt;

  TilingFault fault{.element = TensorShape(region_begin.begin(), region_begin.end()),
                    .times = static_cast<std::uint64_t>(rest->weight + 1)};
  for (std::size_t i = 0; i < cut.size(); ++i) fault.element[cut[i]] = rest->point[i];
  return fault;
}

}  // namespace ratoon::checkpoint
