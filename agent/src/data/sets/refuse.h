// The words and exit code with which data sets refuse files.
#pragma once

#include <string>

#include <ratoon/failure.h>
#include <ratoon/result.h>

#include "base/contract/exit_code.h"

namespace ratoon::data {

// The same start would fail again.
[[noreturn]] inline void refuse(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

// A file that cannot be had: by its name and rights, which somebody has to mend, or by its storage, which may
// be better elsewhere.
[[noreturn]] inline void refuse(const Error& error) {
  const bool is_storage = error.kind() == ErrorKind::kIo || error.is_retryable();
  throw Failure(static_cast<int>(is_storage ? ExitCode::kStorage : ExitCode::kConfiguration),
                error.message());
}

}  // namespace ratoon::data
