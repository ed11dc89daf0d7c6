// Identifies the machine and the network namespace in which this process runs.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Both functions return an empty text if the machine does not have the file or hides it. An error means that
// the file could not be read for now: a caller must not take another identity for its own then.

// Returns the boot_id of the Linux kernel, which is new after each boot.
[[nodiscard]] Result<std::string> read_boot_id();

// Returns a text that differs for each network namespace of one boot.
[[nodiscard]] Result<std::string> read_network_namespace();

}  // namespace ratoon
