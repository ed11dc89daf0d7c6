// Writes texts as Python does, so that files equal those of MosaicML Streaming byte for byte.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::mds {

// Equals Python's json.dumps(value, sort_keys=True): separators are ", " and ": "; non-ASCII is escaped.
[[nodiscard]] std::string python_json(const nlohmann::json& value);

// Does the same as Python's repr() of a float: the shortest text that reads back as the same number.
[[nodiscard]] std::string python_float(double value);

}  // namespace ratoon::mds
