// Writes JSON texts exactly as Python does, so that index files are byte for byte equal to those of MosaicML
// Streaming.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::mds {

// Returns the same text as Python's json.dumps(value, sort_keys=True): the separators are ", " and ": ", and
// characters outside of ASCII are escaped.
[[nodiscard]] std::string format_python_json(const nlohmann::json& value);

// Returns the same text as Python's repr() of a float: the shortest text that reads back as the same number.
[[nodiscard]] std::string format_python_float(double value);

}  // namespace ratoon::mds
