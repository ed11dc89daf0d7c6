// Identifies the machine and the network namespace in which this process runs.
#pragma once

#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Both functions read a file of /proc, and return an empty text if the machine lacks or hides this file. An
// error says that the file cannot be read for now: the caller must then not make up an identity.

// Returns the boot_id of the Linux kernel, which is new after each boot.
[[nodiscard]] Result<std::string> read_boot_id();

// Returns a text that differs for each network namespace of one boot.
[[nodiscard]] Result<std::string> read_network_namespace();

}  // namespace ratoon
