// Throws a Failure, with its exit code, for a data set that refuses a file.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// Throws a Failure for an error that a repeated start would have again.
[[noreturn]] void refuse(const std::string& sentence);

// Throws a Failure for an error of a file. Wrong contents of a file stay wrong (exit code 82). A file that
// cannot be read now may be readable later or on another node (exit code 84), even if its path is not found,
// because this start has seen the path before.
[[noreturn]] void refuse(const Error& error);

// Throws a Failure for an error of a path that the program names. If the path does not exist, either its name
// is wrong (exit code 82) or its volume is not mounted yet (exit code 84).
[[noreturn]] void refuse_to_open(const std::filesystem::path& path, const Error& error);

// Returns whether a missing path has a wrong name: true if its folder, or the nearest existing parent folder,
// has other files. An empty folder may be the mount point of a volume that is not mounted yet, and a dangling
// link may point into a volume that is not mounted yet.
[[nodiscard]] bool is_wrong_name(const std::filesystem::path& path);

}  // namespace ratoon::data
