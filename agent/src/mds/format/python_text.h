// Texts as Python writes them, so that files equal those of Streaming's writer byte for byte.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::mds {

// Does the same as json.dumps(value, sort_keys=True): ", " and ": " as separators, all but ASCII escaped.
[[nodiscard]] std::string python_json(const nlohmann::json& value);

// Does the same as repr() of a float: the shortest text that reads back as the same number.
[[nodiscard]] std::string python_float(double value);

}  // namespace ratoon::mds
