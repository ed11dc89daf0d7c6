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

// Texts in the header of the file: Hugging Face's readers ask for {"format": "pt"}.
using SafetensorsMetadata = std::map<std::string, std::string>;

// Equal tensors under equal names make the same bytes, in any order of `tensors`. Bytes and text become U8.
// After an error the bytes in the sink are of no use.
[[nodiscard]] Result<void> write_safetensors(std::span<const TensorSource> tensors, ByteSink& sink,
                                             const SafetensorsMetadata& metadata = {});

// Views of the file's bytes, in their order. The views cover every byte after the header. The format has no
// checksum, so that flipped bits of data are not detected. Metadata is ignored.
[[nodiscard]] Result<std::vector<TensorView>> read_safetensors(std::span<const std::byte> file);

}  // namespace ratoon::checkpoint
