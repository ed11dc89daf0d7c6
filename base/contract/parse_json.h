// A variant of parse_json() of fields.h that leaves out parts that the reader does not need.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon {

// Lists named `left_out_list` are skipped and are not in the result. Values nested deeper than `depth_max`
// levels are skipped too and become null: one object that is too deep must not hide the other objects.
[[nodiscard]] Result<nlohmann::json> parse_json_without(std::string_view left_out_list, std::string_view text,
                                                        std::size_t bytes_max, int depth_max);

}  // namespace ratoon
