// The standard streams of a command: whether what it printed has arrived.
#pragma once

#include <ratoon/result.h>

namespace ratoon::cli {

// One that was closed would otherwise be the number of the next file that is opened, and get what is printed.
void open_standard_streams();

// Writes what is buffered. An error when some of the output was lost, now or before.
[[nodiscard]] Result<void> flush_output();

}  // namespace ratoon::cli
