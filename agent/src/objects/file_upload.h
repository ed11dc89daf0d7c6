// Uploads objects to files, and removes the temporary files that killed writers left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects {

// Creates the missing folders of a file and calls `write`, which creates the file. If another process
// meanwhile removed the folder with the folder's last object, creates the folders and calls `write` again.
[[nodiscard]] Result<void> write_into_folder(const std::filesystem::path& path,
                                             const std::function<Result<void>()>& write);

// Writes the object's file, and creates missing folders. `uri` names the object in messages.
[[nodiscard]] Result<UploadedObject> upload_file(const std::filesystem::path& path, ObjectSource& source,
                                                 const UploadOptions& options, const std::string& uri);

// Removes temporary files in `folder` whose names there begin with `prefix`. Returns their number.
[[nodiscard]] Result<std::uint64_t> remove_temporary_files(const std::filesystem::path& folder,
                                                           std::string_view prefix, Duration older_than,
                                                           const std::string& uri,
                                                           const std::stop_token& stop);

}  // namespace ratoon::objects
