// An identity that is stored in a folder: 16 random hexadecimal digits, and 16 of the folder's mark
// (folder_mark.h). A copy of the folder contains the file too but has another mark, so a copy can be
// detected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon {

// Whether the text has the length and the digits of an identity.
[[nodiscard]] bool is_identity(std::string_view text);
// Draws a new identity for a folder with this mark. If the mark is 0, which means unknown, all digits are
// random.
[[nodiscard]] Result<std::string> draw_identity(std::uint64_t mark);
// Returns the identity of the folder with this mark, given the text `read` from its file: `read` itself,
// unless it was drawn in another folder.
[[nodiscard]] std::string identity_there(const std::string& read, std::uint64_t mark);

}  // namespace ratoon
