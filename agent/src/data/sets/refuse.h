// The words and exit code with which data sets refuse files.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// The same start would fail again.
[[noreturn]] void refuse(const std::string& sentence);

// What is wrong with a file stays so (82). A file that cannot be read now may be there at another time or on
// another node, also where it is not found: the start had seen it (84).
[[noreturn]] void refuse(const Error& error);

// The same for what a program names. A path that is not there is a wrong name (82) or lies on a volume that
// is not mounted yet (84).
[[noreturn]] void refuse_to_open(const std::filesystem::path& path, const Error& error);

// Whether a path that was not found is a wrong name: the folder that should hold it, or the nearest one above
// that is there, has other files. An empty folder may be where a volume is mounted later, and a link to
// nowhere may lead into one.
[[nodiscard]] bool is_wrong_name(const std::filesystem::path& path);

}  // namespace ratoon::data
