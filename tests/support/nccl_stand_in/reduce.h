// Arithmetic on numbers of NCCL's types, as bytes: pure, and the same bits for the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <nccl.h>

namespace ratoon::test::nccl_stand_in {

// 0 for a type that is not known.
[[nodiscard]] std::size_t size_of(ncclDataType_t type);
[[nodiscard]] bool is_floating(ncclDataType_t type);

using Scalar = std::array<std::byte, 8>;  // the number is at its begin

// numbers[i] *= factor
void multiply(std::span<std::byte> numbers, const Scalar& factor, ncclDataType_t type);
// into[i] = into[i] (op) numbers[i], of ncclSum, ncclMin or ncclMax. For min and max, into[i] stays if
// numbers[i] is not less or more, so that a NaN in into[i] stays. Whole numbers wrap around.
void reduce(std::span<std::byte> into, std::span<const std::byte> numbers, ncclRedOp_t op,
            ncclDataType_t type);

// The content of a result after an abort: bytes that depend on the seed alone, or NaN.
void fill_with_garbage(std::span<std::byte> numbers, std::uint64_t seed, bool is_nan, ncclDataType_t type);

}  // namespace ratoon::test::nccl_stand_in
