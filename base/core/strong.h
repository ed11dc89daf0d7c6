// Strong<Tag, Rep>: a number or a name of its own type, so that the compiler refuses it in place of another
// number or name.
//
//   using Attempt = Strong<struct AttemptTag, std::uint64_t>;
//   using NodeName = Strong<struct NodeNameTag, std::string>;
//
// A Strong can be compared, hashed and stored; next() is the only arithmetic.
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

  // The following number. A fencing number that wrapped around would let superseded processes write: abort
  // instead.
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
