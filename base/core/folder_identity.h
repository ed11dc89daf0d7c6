// An identity that lies in a folder: 16 random hexadecimal digits, and 16 of the folder's mark
// (folder_mark.h). A copy of the folder has the file, too, and another mark: so the two are told apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon {

// Whether it is as long, and of such digits.
[[nodiscard]] bool is_identity(std::string_view text);
// A new one, of a folder with this mark; of random digits alone where the mark is 0, which is not known.
[[nodiscard]] Result<std::string> draw_identity(std::uint64_t mark);
// What an identity that was read is in the folder with this mark: the same, unless it was drawn elsewhere.
[[nodiscard]] std::string identity_there(const std::string& read, std::uint64_t mark);

}  // namespace ratoon
