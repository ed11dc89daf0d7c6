// Objects that become files, streamed, and what is left of them where their writer was killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects {

// Makes missing folders for a file and calls `write`, which makes it; again where the folder is gone by then,
// since another process took its last object away.
[[nodiscard]] Result<void> write_into_folder(const std::filesystem::path& path,
                                             const std::function<Result<void>()>& write);

// `uri` names the object in messages. Missing folders are made.
[[nodiscard]] Result<UploadedObject> upload_file(const std::filesystem::path& path, ObjectSource& source,
                                                 const UploadOptions& options, const std::string& uri);

// Of files in the folder whose names in it begin with `prefix`. How many there were.
[[nodiscard]] Result<std::uint64_t> remove_temporary_files(const std::filesystem::path& folder,
                                                           std::string_view prefix, Duration older_than,
                                                           const std::string& uri,
                                                           const std::stop_token& stop);

}  // namespace ratoon::objects
