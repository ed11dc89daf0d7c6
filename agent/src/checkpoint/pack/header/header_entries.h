// Parses the JSON of a safetensors header into entries. The parser checks only the syntax, not whether the
// entries fit together (for example, whether tensors overlap).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

struct TensorEntry {
  std::string name;
  std::string type_name;
  TensorShape shape;
  std::vector<std::uint64_t> offsets;  // two of them
};

struct HeaderEntries {
  std::vector<TensorEntry> tensors;                           // in the order of the text, names may repeat
  std::vector<std::pair<std::string, std::string>> metadata;  // in the order of the text, keys may repeat
};

// Refuses JSON with values of unexpected types, with unknown keys, or with entries that lack a required key.
[[nodiscard]] Result<HeaderEntries> parse_header_entries(std::string_view json);

// Returns an error whose message is "not a sound pack: " and `what`.
[[nodiscard]] Error invalid_pack_error(const std::string& what);

}  // namespace ratoon::checkpoint
