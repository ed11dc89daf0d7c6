// Folders that survive a power cut: a new name is durable only once its parent was synced.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Writes the names in this folder to the disk. Does nothing on file systems that do not support a sync of a
// folder, such as 9p and the maps of automounters.
[[nodiscard]] Result<void> sync_folder(const std::filesystem::path& folder);
// Does the same for an open folder; messages show it as `shown`.
[[nodiscard]] Result<void> sync_open_folder(int fd, const std::string& shown);

// Creates the folder and the missing ones above it, and syncs the parent of each created one.
[[nodiscard]] Result<void> create_folders(const std::filesystem::path& folder);

// Adds to the error that this process's user must be able to write in `folder`.
[[nodiscard]] Error not_allowed(const Error& refused, const std::filesystem::path& folder);

}  // namespace ratoon
