// Reads a file of torch.save: tensors and plain values in dictionaries, lists and tuples, and nothing else.
// The reader executes no code of the pickle, verifies every checksum (torch.load verifies none), and refuses
// a file with unexpected bytes. docs/train/interop.md lists the accepted and the refused contents of files.
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

// The tensors have the same order as in the file. The name of a tensor or value consists of the keys and list
// positions that lead to it, joined by dots, such as "model.layers.0.weight". If the file is a single tensor,
// its name is "tensor". Empty dictionaries, lists and tuples are not in the result.
struct PtFile {
  std::vector<PtTensor> tensors;
  std::vector<PtScalar> scalars;
};

struct PtReadOptions {
  // If true, read_pt() also accepts files that PyTorch wrote after
  // torch.serialization.set_crc32_options(False): their checksums are all 0, and read_pt() verifies none.
  bool checksums_may_be_missing = false;
};

// The file's bytes must stay valid while the result is used. Returns kInvalid if the file is intact but has
// an old format or contains other objects than tensors and plain values. Returns kCorrupted if the file is
// damaged.
[[nodiscard]] Result<PtFile> read_pt(std::span<const std::byte> file, const PtReadOptions& options = {});

}  // namespace ratoon::checkpoint
