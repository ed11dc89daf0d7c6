// Throws the failures of data sets that refuse files, with their exit codes.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// Throws for an error that the same start would have again.
[[noreturn]] void refuse(const std::string& sentence);

// Throws for an error of a file. A file with wrong contents stays wrong (82). A file that cannot be read now
// may be readable later or on another node (84). That is true even if the path is not found, because this
// start has seen it.
[[noreturn]] void refuse(const Error& error);

// Throws for an error of a path that the program names. If the path does not exist, either its name is wrong
// (82) or its volume is not mounted yet (84).
[[noreturn]] void refuse_to_open(const std::filesystem::path& path, const Error& error);

// Whether a path that was not found is a wrong name: true if its folder, or the nearest parent folder that
// exists, has other files. An empty folder may be the mount point of a volume that is not mounted yet, and a
// dangling link may point into such a volume.
[[nodiscard]] bool is_wrong_name(const std::filesystem::path& path);

}  // namespace ratoon::data
