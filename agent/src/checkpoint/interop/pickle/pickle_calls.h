// Computes the results of the calls that a pickle may make.
#pragma once

#include <optional>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

// Returns the value of calling `callable` with `arguments`: an ordered dictionary, a size, a tensor.
[[nodiscard]] Result<PickleValue> call(Pickle& pickle, ValueId callable, ValueId arguments);

// If the call only gives its first argument a type, as LibTorch's pickle_save does for containers, returns
// the id of that argument itself, because other values may refer to it.
[[nodiscard]] std::optional<ValueId> find_tagged(const Pickle& pickle, ValueId callable, ValueId arguments);

// Returns the storage that a persistent id names: ("storage", type, key, location, elements).
[[nodiscard]] Result<PickleValue> find_storage(Pickle& pickle, ValueId id);

// An ordered dictionary may carry attributes, such as the _metadata of a module's state. Attributes of an
// ordered dictionary are checked and left out. Attributes of any other object are an error.
[[nodiscard]] Result<void> set_attributes(const Pickle& pickle, ValueId object, ValueId attributes);

}  // namespace ratoon::checkpoint
