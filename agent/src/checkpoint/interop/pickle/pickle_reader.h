// checkpoint/interop/pickle/: Reads pickles that PyTorch wrote, without executing code, and writes pickles
// that PyTorch can read.
//
// Reads a pickle of tensors and plain containers as torch.save writes it (protocol 2). A pickle is a program
// for a stack machine. The pickle reader never executes code: it accepts only the few instructions that build
// data and the few names that tensors need. The reader refuses every other instruction or name with an error
// that quotes it, like torch.load(weights_only=True), but with a shorter list of accepted names.
#pragma once

#include <cstddef>
#include <span>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

// Returns kInvalid if the pickle contains other objects than tensors and plain containers, and kCorrupted if
// it is cut off or damaged. The reader's memory is bounded by the size of the pickle and by a limit of 16
// million values.
[[nodiscard]] Result<Pickle> read_pickle(std::span<const std::byte> bytes);

}  // namespace ratoon::checkpoint
