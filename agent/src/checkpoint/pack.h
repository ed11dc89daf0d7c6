// A pack: one rank's tracked state as a plain safetensors file, one U8 tensor an object. Any safetensors
// reader opens it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

using NamedStates = std::map<std::string, std::string>;  // name to bytes

// Eight bytes of header length, a JSON header padded with spaces so that data starts at a multiple of 4096,
// the data.
[[nodiscard]] std::string encode_pack(const NamedStates& states);

// Refuses headers that are too long, ranges that overlap, leave holes or leave the file, and types other than
// U8.
[[nodiscard]] Result<NamedStates> decode_pack(std::string_view bytes);

}  // namespace ratoon::checkpoint
