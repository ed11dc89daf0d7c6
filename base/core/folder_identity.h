// A folder's identity, stored in a file in the folder: 16 random hexadecimal digits, and 16 digits of a hash
// of the folder's inode (folder_inode_hash.h). A copied folder has the same identity file but another inode,
// so Ratoon detects the copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon {

// Returns whether the text has the form of an identity: its length, and hexadecimal digits only.
[[nodiscard]] bool is_identity(std::string_view text);
// Draws a new identity for a folder from its mark, a hash of its inode (folder_inode_hash.h). If the mark is
// 0, which means unknown, all digits of the identity are random.
[[nodiscard]] Result<std::string> make_random_identity(std::uint64_t mark);
// Returns the identity of the folder with this mark. `read` is the identity in the folder's file. Returns
// `read` itself if it was drawn for this folder, and another identity if the folder is a copy.
[[nodiscard]] std::string identity_of_folder(const std::string& read, std::uint64_t mark);

}  // namespace ratoon
