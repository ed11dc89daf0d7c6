// The names of Python functions and classes that a pickle of tensors needs.
#pragma once

#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

// Returns kInvalid for a name that a pickle of tensors does not need; the message quotes the name.
[[nodiscard]] Result<PythonNameValue> find_name(std::string_view module, std::string_view name);

}  // namespace ratoon::checkpoint
