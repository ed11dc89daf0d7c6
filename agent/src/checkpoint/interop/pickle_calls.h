// What a pickle's calls stand for, of those that are admitted.
#pragma once

#include <optional>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle_values.h"

namespace ratoon::checkpoint {

// The value of calling `callable` with `arguments`: an ordered dictionary, a size, a tensor.
[[nodiscard]] Result<PickleValue> call(Pickle& pickle, ValueId callable, ValueId arguments);

// Where that only says of which type its first argument is, as LibTorch's pickle_save does of containers:
// that argument itself, since others may name it.
[[nodiscard]] std::optional<ValueId> find_tagged(const Pickle& pickle, ValueId callable, ValueId arguments);

// The storage that a persistent id names: ("storage", type, key, location, elements).
[[nodiscard]] Result<PickleValue> find_storage(Pickle& pickle, ValueId id);

// An ordered dictionary may carry attributes, such as the _metadata of a module's state. They are looked at
// and left out; any other object is refused.
[[nodiscard]] Result<void> set_attributes(const Pickle& pickle, ValueId object, ValueId attributes);

}  // namespace ratoon::checkpoint
