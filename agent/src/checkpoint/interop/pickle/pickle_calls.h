// Computes the results of the function calls that a pickle of tensors may contain, without executing Python
// code.
#pragma once

#include <optional>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle/pickle_values.h"

namespace ratoon::checkpoint {

// Returns the result of calling `callable` with `arguments`, such as an ordered dictionary, a torch.Size or a
// tensor.
[[nodiscard]] Result<PickleValue> call(Pickle& pickle, ValueId callable, ValueId arguments);

// LibTorch's pickle_save writes calls that only attach a type to a container, their first argument. For such
// a call, returns the id of the container and no new value, because other values may refer to the container.
[[nodiscard]] std::optional<ValueId> find_typed_container(const Pickle& pickle, ValueId callable,
                                                          ValueId arguments);

// Returns the storage that a persistent id names: ("storage", type, key, location, elements).
[[nodiscard]] Result<PickleValue> find_storage(Pickle& pickle, ValueId id);

// An ordered dictionary may carry attributes, such as the _metadata of a module's state. The reader checks
// attributes of an ordered dictionary and ignores them, and refuses attributes of any other object.
[[nodiscard]] Result<void> set_attributes(const Pickle& pickle, ValueId object, ValueId attributes);

}  // namespace ratoon::checkpoint
