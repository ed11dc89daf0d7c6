// Throws a Failure if a data set cannot use a file, with an exit code that says whether a retry may help.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::data {

// Throws a Failure for an error that would also occur at every later start of the program.
[[noreturn]] void throw_dataset_failure(const std::string& sentence);

// Throws a Failure for an error on reading a file. If the contents of the file are wrong, a retry fails in
// the same way (exit code 82). Any other error, even that the file no longer exists, may end by itself or
// concern only this node (exit code 84).
[[noreturn]] void throw_dataset_failure(const Error& error);

// Throws a Failure for an error on opening a path that the program names. If the path does not exist, either
// its name is wrong (exit code 82) or its volume is not mounted yet (exit code 84).
[[noreturn]] void throw_open_failure(const std::filesystem::path& path, const Error& error);

// Adds the nearest existing folder and the next step to the error of a path that does not exist. The returned
// error is kInvalid if the path is probably mistyped, because the nearest existing folder has other files.
// The returned error is kNotFound if this folder is empty, or if the path is a link without a target, because
// a volume may not be mounted yet.
[[nodiscard]] Error explain_missing_path(const std::filesystem::path& path, const Error& error);

}  // namespace ratoon::data
