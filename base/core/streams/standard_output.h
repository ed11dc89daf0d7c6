// Checks that a program's standard output was really written.
#pragma once

#include <ratoon/result.h>

namespace ratoon {

// Writes the buffered text of stdout, in whose buffer is also the text that was printed through std::cout.
// Returns an error if this write or an earlier write lost a part of the text.
[[nodiscard]] Result<void> flush_output();

}  // namespace ratoon
