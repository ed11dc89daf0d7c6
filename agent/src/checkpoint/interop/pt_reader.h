// Reads a file of torch.save: tensors and plain values in dictionaries, lists and tuples, and nothing else.
// No pickle is executed, every checksum is verified (torch.load verifies none), and every byte of the file is
// accounted for. docs/train/interop.md says what is admitted and what is refused.
//
//   const auto file = MappedFile::open(path);
//   const auto state = read_pt(file->bytes());
//   for (const PtTensor& tensor : state->tensors) tensor.stored.write(sink);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/stored_tensor.h"

namespace ratoon::checkpoint {

struct PtTensor {
  std::string name;
  StoredTensor stored;  // refers to the file's bytes
};

// A value that is not a tensor: a bool, a whole number, a floating-point number, a text or None.
struct PtScalar {
  std::string name;
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value;
};

// The tensors are in the file's order. A name is the path of keys and positions, joined by dots:
// "model.layers.0.weight"; a file that is one tensor alone has the name "tensor". Empty containers are left
// out.
struct PtFile {
  std::vector<PtTensor> tensors;
  std::vector<PtScalar> scalars;
};

struct PtReadOptions {
  // Takes files of torch.serialization.set_crc32_options(False), whose checksums are all 0.
  bool checksums_may_be_missing = false;
};

// The file's bytes must stay valid while the result is used. Returns kInvalid if the file is intact but has
// more than tensors and plain values or an old format, kCorrupted if its bytes have changed.
[[nodiscard]] Result<PtFile> read_pt(std::span<const std::byte> file, const PtReadOptions& options = {});

}  // namespace ratoon::checkpoint
