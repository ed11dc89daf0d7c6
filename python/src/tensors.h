// Types of tensors by their names, and memory by its address, as Python hands them over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <ratoon/element_type.h>

namespace ratoon::python {

[[nodiscard]] inline ElementType type_named(const std::string& name) {
  for (int number = 0; number <= static_cast<int>(ElementType::kComplex64); ++number) {
    const auto type = static_cast<ElementType>(number);
    if (name_of(type) == name) return type;
  }
  throw std::invalid_argument("checkpoints have no tensors of type " + name);
}

[[nodiscard]] inline std::byte* memory_at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): an address from Python
}

}  // namespace ratoon::python
