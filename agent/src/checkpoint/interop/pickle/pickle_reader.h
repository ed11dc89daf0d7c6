// checkpoint/interop/pickle/: Pickles as PyTorch writes them: a reader that executes nothing, and a writer.
//
// Reads a pickle of tensors and plain containers as torch.save writes it (protocol 2). Nothing is executed: a
// pickle is a program, and this reader accepts only the few instructions that build data and the few names
// that stand for tensors. The reader refuses any other instruction or name, and quotes it, as
// torch.load(weights_only=True) does, but is stricter.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

// Returns kInvalid if there is more than tensors and plain containers, kCorrupted if the pickle is cut off or
// damaged. Memory is limited by the size of the pickle and by 16 million values.
[[nodiscard]] Result<Pickle> read_pickle(std::span<const std::byte> bytes);

}  // namespace ratoon::checkpoint
