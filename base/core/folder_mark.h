// Which folder this is: another one at the same path, made or moved there later, is not it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ratoon {

// Of its number and its birth, where the file system keeps one: the same for every process that looks, as
// long as the folder lives. 0: nobody can tell.
[[nodiscard]] std::uint64_t folder_mark(const std::filesystem::path& folder);

}  // namespace ratoon
