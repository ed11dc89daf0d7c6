// Reads a pickle of tensors and plain containers as torch.save writes it (protocol 2). Nothing is executed: a
// pickle is a program, and this takes the few instructions that lay out data and the few names that stand for
// tensors. Any other is refused by name, as torch.load(weights_only=True) does, and more strictly.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle_values.h"

namespace ratoon::checkpoint {

// kInvalid: a pickle of more than tensors and plain containers; kCorrupted: not a whole pickle. Memory is
// bounded by what the pickle's size allows and by 16 million values.
[[nodiscard]] Result<Pickle> read_pickle(std::span<const std::byte> bytes);

}  // namespace ratoon::checkpoint
