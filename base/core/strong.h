// Strong<Tag, Rep>: a number or a text with a type of its own, so that the compiler refuses to mix up numbers
// or texts of different meanings.
//
//   using Attempt = Strong<struct AttemptTag, std::uint64_t>;
//   using NodeName = Strong<struct NodeNameTag, std::string>;
//
// A Strong can be compared, hashed and stored; its only arithmetic operation is next().
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

namespace ratoon {

template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;

  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(std::move(value)) {}

  [[nodiscard]] constexpr const Rep& value() const& { return value_; }
  [[nodiscard]] constexpr Rep value() && { return std::move(value_); }

  // Returns the number plus one. A fencing number that overflowed to 0 would let superseded processes write,
  // so next() aborts the process instead.
  [[nodiscard]] constexpr Strong next() const
    requires std::integral<Rep>
  {
    if (value_ == std::numeric_limits<Rep>::max()) std::abort();
    return Strong(static_cast<Rep>(value_ + 1));
  }

  friend auto operator<=>(const Strong&, const Strong&) = default;

 private:
  Rep value_{};
};

}  // namespace ratoon

template <class Tag, class Rep>
struct std::hash<ratoon::Strong<Tag, Rep>> {
  std::size_t operator()(const ratoon::Strong<Tag, Rep>& id) const
      noexcept(std::is_nothrow_invocable_v<std::hash<Rep>, const Rep&>) {
    return std::hash<Rep>{}(id.value());
  }
};
