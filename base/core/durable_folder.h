// Creates folders that survive a power cut. A new folder is durable only after its parent was synced.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ratoon/result.h>

namespace ratoon {

// Writes the list of file names of this folder to the disk (fsync). Does nothing on file systems that cannot
// sync a folder, such as 9p and autofs.
[[nodiscard]] Result<void> sync_folder(const std::filesystem::path& folder);
// Does the same as sync_folder() for an open folder; error messages call the folder `shown`.
[[nodiscard]] Result<void> sync_open_folder(int fd, const std::string& shown);

// Creates the folder and its missing parent folders, without a sync. Returns the parents of the created
// folders, the highest first. The created folders are durable after a sync of each returned folder.
[[nodiscard]] Result<std::vector<std::filesystem::path>> make_folders(const std::filesystem::path& folder);

// Creates the folder and its missing parent folders, and syncs the parent of each created folder.
[[nodiscard]] Result<void> create_folders(const std::filesystem::path& folder);

// Adds to the error `refused` a hint that the user of this process must be able to write in `folder`.
[[nodiscard]] Error add_write_permission_hint(const Error& refused, const std::filesystem::path& folder);

}  // namespace ratoon
