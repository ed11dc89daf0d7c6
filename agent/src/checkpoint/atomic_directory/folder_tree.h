// checkpoint/atomic_directory/: Implements AtomicDirectory, for directories that other libraries fill and
// that are finished as a whole or not at all.
//
// Functions that sync, remove and inspect whole trees of folders, for AtomicDirectory. An error of the disk
// is thrown as Failure with exit code 84.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/exit_code.h"

namespace ratoon::folder_tree {

[[noreturn]] void throw_failure(ExitCode code, const std::string& sentence);
void throw_if_failed(const Result<void>& done);
void throw_if_failed(const std::error_code& code, const std::string& doing);

[[nodiscard]] std::vector<std::filesystem::path> list_entries(const std::filesystem::path& folder);

// Returns true if the path itself is a directory, and false if it is a link to a directory.
[[nodiscard]] bool is_directory_itself(const std::filesystem::path& path);

[[nodiscard]] bool is_link(const std::filesystem::path& path);

// Syncs a whole tree of folders: the files in a folder first, and then the folder itself.
void sync_tree(const std::filesystem::path& folder);

void remove_tree(const std::filesystem::path& path);

// Returns the last name in the path that the link contains. The folders in a link's path may not exist on
// this machine.
[[nodiscard]] std::string link_target_name(const std::filesystem::path& link);

}  // namespace ratoon::folder_tree
