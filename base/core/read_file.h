// A small file as text: settings, tokens, certificates, messages.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// kNotFound where there is none, kInvalid where it is larger. Waits for no other end of a pipe that somebody
// put there, but for the bytes of one that has it.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t bytes_max = std::size_t{1} << 20);

}  // namespace ratoon
