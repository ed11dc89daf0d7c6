// Identifies the machine and the network namespace in which this process runs.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Both functions of boot_id.h read a file of /proc, and return an empty text if the machine lacks or hides
// the file. After an error, the caller must not invent an identity, because the file may be readable later.

// Returns the boot_id of the Linux kernel, which is new after each boot.
[[nodiscard]] Result<std::string> read_boot_id();

// Returns a text that differs for each network namespace of one boot.
[[nodiscard]] Result<std::string> read_network_namespace();

}  // namespace ratoon
