// Texts as Python writes them, so that files are those of Streaming's writer byte for byte.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::mds {

// json.dumps(value, sort_keys=True): ", " and ": " between things, everything but ASCII escaped.
[[nodiscard]] std::string python_json(const nlohmann::json& value);

// repr() of a float: the shortest text that is read as the same number.
[[nodiscard]] std::string python_float(double value);

}  // namespace ratoon::mds
