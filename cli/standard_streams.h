// Prepares a command's standard streams, and checks that all its output was really written.
#pragma once

#include "base/core/streams/standard_output.h"

namespace ratoon::cli {

// Opens /dev/null in place of each standard stream that is closed. If a standard stream stayed closed, a file
// that is opened later would get its descriptor number, and printed text would go into that file.
void open_standard_streams();

using ratoon::flush_output;

}  // namespace ratoon::cli
