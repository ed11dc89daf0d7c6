#include "tests/support/nccl_stand_in/reduce.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/support/nccl_stand_in/numbers.h"

namespace ratoon::test::nccl_stand_in {
namespace {

template <typename T>
constexpr bool kIsNarrow = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

// The type in which a step computes: each result is then rounded or wrapped to T.
template <typename T>
auto widen(T number) {
  if constexpr (kIsNarrow<T>)
    return static_cast<float>(number);
  else if constexpr (std::is_floating_point_v<T>)
    return number;
  else
    return static_cast<std::uint64_t>(number);
}

template <typename T>
auto comparable(T number) {
  if constexpr (kIsNarrow<T>)
    return static_cast<float>(number);
  else
    return number;
}

template <typename T>
T load(const std::byte* from) {
  T number{};
  std::memcpy(&number, from, sizeof number);
  return number;
}

template <typename T>
void store(std::byte* to, T number) {
  std::memcpy(to, &number, sizeof number);
}

// Calls visit(T{}) with the type that `type` names.
template <typename Visit>
void with_type(ncclDataType_t type, const Visit& visit) {
  if (type == ncclInt8) visit(std::int8_t{});
  if (type == ncclUint8) visit(std::uint8_t{});
  if (type == ncclInt32) visit(std::int32_t{});
  if (type == ncclUint32) visit(std::uint32_t{});
  if (type == ncclInt64) visit(std::int64_t{});
  if (type == ncclUint64) visit(std::uint64_t{});
  if (type == ncclFloat16) visit(Half{});
  if (type == ncclFloat32) visit(float{});
  if (type == ncclFloat64) visit(double{});
  if (type == ncclBfloat16) visit(Bfloat16{});
}

// into[i] = step(into[i], numbers[i])
template <typename T, typename Step>
void each(std::span<std::byte> into, std::span<const std::byte> numbers, const Step& step) {
  for (std::size_t at = 0; at + sizeof(T) <= into.size(); at += sizeof(T))
    store(&into[at], step(load<T>(&into[at]), load<T>(&numbers[at])));
}

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31);
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  std::size_t size = 0;
  with_type(type, [&](auto zero) { size = sizeof zero; });
  return size;
}

bool is_floating(ncclDataType_t type) {
  bool is = false;
  with_type(type,
            [&](auto zero) { is = kIsNarrow<decltype(zero)> || std::is_floating_point_v<decltype(zero)>; });
  return is;
}

void multiply(std::span<std::byte> numbers, const Scalar& factor, ncclDataType_t type) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T by = load<T>(factor.data());
    each<T>(numbers, numbers, [&](T number, T) { return static_cast<T>(widen(number) * widen(by)); });
  });
}

void reduce(std::span<std::byte> into, std::span<const std::byte> numbers, ncclRedOp_t op,
            ncclDataType_t type) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (op == ncclMin)
      each<T>(into, numbers, [](T a, T b) { return comparable(b) < comparable(a) ? b : a; });
    else if (op == ncclMax)
      each<T>(into, numbers, [](T a, T b) { return comparable(b) > comparable(a) ? b : a; });
    else
      each<T>(into, numbers, [](T a, T b) { return static_cast<T>(widen(a) + widen(b)); });
  });
}

void fill_with_garbage(std::span<std::byte> numbers, std::uint64_t seed, bool is_nan, ncclDataType_t type) {
  if (!is_nan || !is_floating(type)) {
    constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
    for (std::size_t at = 0; at < numbers.size(); ++at)
      numbers[at] = static_cast<std::byte>(mixed(seed + kStep * (at / 8 + 1)) >> (8 * (at % 8)));
    return;
  }
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T nan = [] {
      if constexpr (kIsNarrow<T>)
        return T(std::numeric_limits<float>::quiet_NaN());
      else
        return std::numeric_limits<T>::quiet_NaN();
    }();
    each<T>(numbers, numbers, [&](T, T) { return nan; });
  });
}

}  // namespace ratoon::test::nccl_stand_in
