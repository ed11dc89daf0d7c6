// A small file as text: settings, tokens, certificates.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::objects {

// At most a megabyte; kNotFound where there is none.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path);

}  // namespace ratoon::objects
