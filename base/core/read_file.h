// Reads a small file as text: settings, tokens, certificates, messages.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon {

// Returns kNotFound if there is no such file, kInvalid if the file is larger than `bytes_max`. If the path is
// a pipe without a writer, read_file() does not wait; if a writer has opened the pipe, read_file() waits for
// its bytes.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t bytes_max = std::size_t{1} << 20);

// Opens a file for reading; if the result is not open, errno has the reason. A named pipe is opened at once
// (O_NONBLOCK). The call is repeated if a signal interrupts it, as on a file system in user space.
[[nodiscard]] UniqueFd open_for_reading(const std::filesystem::path& path);

// Returns an empty text if there is no such file or this process may not read it. After an error, a later
// call may be able to read the file.
[[nodiscard]] Result<std::string> read_file_or_none(const std::filesystem::path& path,
                                                    std::size_t bytes_max = std::size_t{1} << 20);

}  // namespace ratoon
