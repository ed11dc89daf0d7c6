// Prepares a command's standard streams, and checks that all its output was really written.
#pragma once

#include <ratoon/result.h>

namespace ratoon::cli {

// Opens /dev/null in place of each standard stream that is closed. A file that is opened later would
// otherwise get that stream's descriptor number, and printed text would go into the file.
void open_standard_streams();

// Writes the buffered output. Returns an error if this or an earlier write lost a part of the output.
[[nodiscard]] Result<void> flush_output();

}  // namespace ratoon::cli
