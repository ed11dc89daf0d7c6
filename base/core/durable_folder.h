// Folders whose names survive a power cut: a new name is on the disk only once its parent was synced.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Writes the names in this folder to the disk. Where its file system knows no such request, as automounters'
// maps and 9p do not, there is nothing to do.
[[nodiscard]] Result<void> sync_folder(const std::filesystem::path& folder);
// The same of one that is open; `shown` names it in messages.
[[nodiscard]] Result<void> sync_open_folder(int fd, const std::string& shown);

// Makes the folder and those above it that are missing, and syncs the parent of each that it made.
[[nodiscard]] Result<void> create_folders(const std::filesystem::path& folder);

// The same error, and who needs which right: a user of this number must be able to write in `folder`.
[[nodiscard]] Error not_allowed(const Error& refused, const std::filesystem::path& folder);

}  // namespace ratoon
