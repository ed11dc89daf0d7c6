// Throws a Failure, with the right exit code, if a data set cannot use a file.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// Throws a Failure for an error that every further start of the program would have, too.
[[noreturn]] void refuse(const std::string& sentence);

// Throws a Failure for an error on reading a file. If the contents of the file are wrong, a retry fails in
// the same way (exit code 82). A file that cannot be read now may be readable later or on another node (exit
// code 84); so may a file that is not found, because this process has seen it before.
[[noreturn]] void refuse(const Error& error);

// Throws a Failure for an error on opening a path that the program names. If the path does not exist, either
// its name is wrong (exit code 82) or its volume is not mounted yet (exit code 84).
[[noreturn]] void refuse_to_open(const std::filesystem::path& path, const Error& error);

// Returns true if the name of a path that does not exist is probably wrong, because the nearest existing
// parent folder has other files. Returns false if that parent folder is empty or the path is a link without a
// target: a volume may not be mounted yet.
[[nodiscard]] bool is_wrong_name(const std::filesystem::path& path);

}  // namespace ratoon::data
