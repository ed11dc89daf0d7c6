// Plain safetensors files, for other programs: byte for byte what Python's save_file writes for the same
// tensors, and a strict reader of what others wrote. Our own packs are such files too, with more in them: see
// agent/src/checkpoint/pack.
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

// Texts that go with the file: {"format": "pt"} is what Hugging Face's readers ask for.
using SafetensorsMetadata = std::map<std::string, std::string>;

// The same tensors under the same names make the same bytes, in whatever order they come. Bytes and text
// become U8. After an error what the sink got is of no use.
[[nodiscard]] Result<void> write_safetensors(std::span<const TensorSource> tensors, ByteSink& sink,
                                             const SafetensorsMetadata& metadata = {});

// Views of the file's bytes, in their order, and no byte of the file is left over. The format has no
// checksum: flipped bits of data are not seen. Metadata is not looked at.
[[nodiscard]] Result<std::vector<TensorView>> read_safetensors(std::span<const std::byte> file);

}  // namespace ratoon::checkpoint
