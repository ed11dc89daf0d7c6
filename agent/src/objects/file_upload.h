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

// Creates the folders of a file that do not exist yet, and calls `write`, which creates the file. If another
// process meanwhile removes the folder together with its last object, write_into_folder() creates the folders
// and calls `write` again.
[[nodiscard]] Result<void> write_into_folder(const std::filesystem::path& path,
                                             const std::function<Result<void>()>& write);

// Writes the file of an object, and creates the folders that do not exist yet. `uri` is the name of the
// object for error messages.
[[nodiscard]] Result<UploadedObject> upload_file(const std::filesystem::path& path, ObjectSource& source,
                                                 const UploadOptions& options, const std::string& uri);

// Removes temporary files whose path, relative to `folder`, begins with `prefix`. Returns their number.
[[nodiscard]] Result<std::uint64_t> remove_temporary_files(const std::filesystem::path& folder,
                                                           std::string_view prefix, Duration older_than,
                                                           const std::string& uri,
                                                           const std::stop_token& stop);

}  // namespace ratoon::objects
