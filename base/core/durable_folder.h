// Creates folders that survive a power cut: a new folder is durable only after its parent was synced.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Writes the list of file names of this folder to the disk (fsync). Does nothing on file systems that cannot
// sync a folder, such as 9p and autofs.
[[nodiscard]] Result<void> sync_folder(const std::filesystem::path& folder);
// Does the same as sync_folder() for an open folder; error messages call the folder `shown`.
[[nodiscard]] Result<void> sync_open_folder(int fd, const std::string& shown);

// Creates the folder and its missing parent folders, and syncs the parent of each created folder.
[[nodiscard]] Result<void> create_folders(const std::filesystem::path& folder);

// Adds to the error `refused` that this process's user must be able to write in `folder`.
[[nodiscard]] Error not_allowed(const Error& refused, const std::filesystem::path& folder);

}  // namespace ratoon
