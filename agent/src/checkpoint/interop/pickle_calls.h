// What a pickle's calls stand for, of those that are admitted.
#pragma once

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/pickle_values.h"

namespace ratoon::checkpoint {

// The value of calling `callable` with `arguments`: an ordered dictionary, a size, a tensor.
[[nodiscard]] Result<PickleValue> call(Pickle& pickle, ValueId callable, ValueId arguments);

// The storage that a persistent id names: ("storage", type, key, location, elements).
[[nodiscard]] Result<PickleValue> find_storage(Pickle& pickle, ValueId id);

// An ordered dictionary may carry attributes, such as the _metadata of a module's state. They are looked at
// and left out; any other object is refused.
[[nodiscard]] Result<void> set_attributes(const Pickle& pickle, ValueId object, ValueId attributes);

}  // namespace ratoon::checkpoint
