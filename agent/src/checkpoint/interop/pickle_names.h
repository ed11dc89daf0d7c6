// The names of Python code that a file of tensors needs.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle_values.h"

namespace ratoon::checkpoint {

// Any other name is an error that says it.
[[nodiscard]] Result<NameValue> find_name(std::string_view module, std::string_view name);

}  // namespace ratoon::checkpoint
