// A variant of parse_json() (fields.h) that omits the parts of a JSON text that a caller does not need.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon {

// Lists under the key `left_out_list` are skipped and are not in the result. Values nested deeper than
// `depth_max` levels become null, so that one deeply nested value does not make the whole text unreadable.
[[nodiscard]] Result<nlohmann::json> parse_json_without_list(std::string_view left_out_list,
                                                             std::string_view text, std::size_t bytes_max,
                                                             int depth_max);

}  // namespace ratoon
