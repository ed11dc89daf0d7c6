// Visits all files below a folder, even while other processes create and remove files and folders there.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <ratoon/result.h>

namespace ratoon::objects {

enum class LinkHandling { kFollowed, kLeftAlone };  // how links to folders are treated

// Calls `visit` for each entry that is not a folder, in no particular order. If `visit` returns an error,
// walk_folder() stops and returns this error. A folder that is removed before walk_folder() opens it counts
// as empty.
[[nodiscard]] Result<void> walk_folder(
    const std::filesystem::path& top, LinkHandling links, const std::string& doing,
    const std::function<Result<void>(const std::filesystem::directory_entry&)>& visit);

}  // namespace ratoon::objects
