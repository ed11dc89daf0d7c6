// The names of Python code that a file of tensors needs.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

// Returns kInvalid for any other name; the message quotes the name.
[[nodiscard]] Result<NameValue> find_name(std::string_view module, std::string_view name);

}  // namespace ratoon::checkpoint
