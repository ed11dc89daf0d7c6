// ratoon.StoreOptions, a dataclass of the package, as the agent's.
#pragma once

#include <nanobind/nanobind.h>

#include <ratoon/store_options.h>

namespace ratoon::python {

// None is the defaults.
[[nodiscard]] StoreOptions store_options_of(const nanobind::object& options);

}  // namespace ratoon::python
