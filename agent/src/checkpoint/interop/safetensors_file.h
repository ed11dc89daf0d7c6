// Writes safetensors files for other programs, byte for byte as Python's save_file does for the same tensors,
// and reads files of other programs strictly. Ratoon's own packs are safetensors files as well, with
// additional fields: see agent/src/checkpoint/pack.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/interop/byte_sink.h"
#include "agent/src/checkpoint/interop/tensor_source.h"

namespace ratoon::checkpoint {

// The texts under "__metadata__" in a file's header. Libraries of Hugging Face refuse a file without
// {"format": "pt"}.
using SafetensorsMetadata = std::map<std::string, std::string>;

// Tensors with equal names and contents always give the same bytes, regardless of their order in `tensors`.
// Elements of Ratoon's types bytes and text are written as U8. If write_safetensors() returns an error, the
// bytes in `sink` are no valid file.
[[nodiscard]] Result<void> write_safetensors(std::span<const TensorSource> tensors, ByteSink& sink,
                                             const SafetensorsMetadata& metadata = {});

// Returns the tensors as views of the file's bytes, in the file's order. Returns an error unless the tensors
// together cover every byte after the header. The safetensors format has no checksum, so a reader does not
// detect flipped bits in tensors. Metadata is ignored.
[[nodiscard]] Result<std::vector<TensorView>> read_safetensors(std::span<const std::byte> file);

}  // namespace ratoon::checkpoint
