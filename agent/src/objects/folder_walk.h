// What lies below a folder, while others make and remove files and folders there.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <ratoon/result.h>

namespace ratoon::objects {

enum class Links { kFollowed, kLeftAlone };  // to folders

// Calls `visit` for each entry that is no folder, in no order; an error that it returns ends the walk. A
// folder that is gone by the time it is looked into was empty: nothing of it is missed.
[[nodiscard]] Result<void> walk_folder(
    const std::filesystem::path& top, Links links, const std::string& doing,
    const std::function<Result<void>(const std::filesystem::directory_entry&)>& visit);

}  // namespace ratoon::objects
