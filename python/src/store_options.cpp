#include "python/src/store_options.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace ratoon::python {

StoreOptions store_options_of(const nb::object& options) {
  if (options.is_none()) return {};
  return {.endpoint = nb::cast<std::string>(options.attr("endpoint")),
          .region = nb::cast<std::string>(options.attr("region")),
          .uses_path_style = nb::cast<std::optional<bool>>(options.attr("uses_path_style")),
          .profile = nb::cast<std::string>(options.attr("profile")),
          .is_anonymous = nb::cast<bool>(options.attr("is_anonymous")),
          .ca_file = nb::cast<std::string>(options.attr("ca_file")),
          .connect_seconds = nb::cast<double>(options.attr("connect_seconds")),
          .silence_seconds = nb::cast<double>(options.attr("silence_seconds")),
          .object_seconds = nb::cast<double>(options.attr("object_seconds")),
          .attempts_max = nb::cast<std::uint32_t>(options.attr("attempts_max"))};
}

}  // namespace ratoon::python
