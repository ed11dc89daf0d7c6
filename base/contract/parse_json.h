// parse_json() of fields.h for readers who know what they have no use for.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon {

// Lists of the name `left_out_list` are read over and are not in what comes out. What is nested deeper than
// `depth_max` levels is read over too, and null stands in its place: one object of many that somebody has
// made too deep must not hide the others.
[[nodiscard]] Result<nlohmann::json> parse_json_without(std::string_view left_out_list, std::string_view text,
                                                        std::size_t bytes_max, int depth_max);

}  // namespace ratoon
