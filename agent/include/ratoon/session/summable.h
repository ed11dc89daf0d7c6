// Summable: the types of a single number that Session::sum() accepts, and SumOf, the type of its sum.
//
//   const std::int64_t samples = session.sum(samples_here);  // a std::int64_t on each rank
//   const std::int32_t ranks = session.sum(1);
//   const double loss = session.sum(loss_here);              // a double
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace ratoon {

template <class T>
concept Summable = std::is_arithmetic_v<T> && !std::same_as<T, long double>;

// The type in which a number is summed. Numbers of type float or double are summed in their own type, and
// integers in 64 or 32 bits. Integers of fewer than 32 bits, and bool, are summed as std::int32_t.
template <Summable T>
using SumOf = std::conditional_t<
    std::is_floating_point_v<T>, T,
    std::conditional_t<sizeof(T) == sizeof(std::int64_t),
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<sizeof(T) == sizeof(std::uint32_t) && std::is_unsigned_v<T>,
                                          std::uint32_t, std::int32_t>>>;

}  // namespace ratoon
