// The standard streams of a command, and whether all that it printed was written.
#pragma once

#include <ratoon/result.h>

namespace ratoon::cli {

// Opens /dev/null in place of each standard stream that is closed. Otherwise the next file that is opened
// would get the stream's descriptor, and the printed text.
void open_standard_streams();

// Writes the buffered output. Returns an error if some of the output was lost, now or before.
[[nodiscard]] Result<void> flush_output();

}  // namespace ratoon::cli
