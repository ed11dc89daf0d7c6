// Plain safetensors files, for other programs: byte for byte what Python's save_file writes for the same
// tensors, and a strict reader of files that others wrote. Ratoon's own packs are safetensors files as well,
// with additional fields: see agent/src/checkpoint/pack.
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

// The texts in a file's header ("__metadata__"); readers of Hugging Face need {"format": "pt"}.
using SafetensorsMetadata = std::map<std::string, std::string>;

// Equal tensors under equal names give the same file, in any order of `tensors`. Elements of type bytes and
// text become U8. After an error the bytes in `sink` are not valid.
[[nodiscard]] Result<void> write_safetensors(std::span<const TensorSource> tensors, ByteSink& sink,
                                             const SafetensorsMetadata& metadata = {});

// Returns the tensors as views of the file's bytes, in the file's order. The views cover every byte after the
// header. The format has no checksum, so that flipped bits of data are not detected. Metadata is ignored.
[[nodiscard]] Result<std::vector<TensorView>> read_safetensors(std::span<const std::byte> file);

}  // namespace ratoon::checkpoint
