// Folders with all that lies in them, as AtomicDirectory sees them. What the disk refuses is thrown as
// Failure with exit code 84.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/exit_code.h"

namespace ratoon::whole_folder {

[[noreturn]] void fail(ExitCode code, const std::string& sentence);
void check(const Result<void>& done);
void check(const std::error_code& code, const std::string& doing);

[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// And no link to one.
[[nodiscard]] bool is_directory_itself(const std::filesystem::path& path);

[[nodiscard]] bool is_link(const std::filesystem::path& path);

// Files before the folder that names them.
void sync_all(const std::filesystem::path& folder);

void remove_tree(const std::filesystem::path& path);

// The last part counts: paths may have been right on another machine only.
[[nodiscard]] std::string target_of(const std::filesystem::path& link);

}  // namespace ratoon::whole_folder
