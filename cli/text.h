// How numbers and lists look to people.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::cli {

// "17 bytes", "1.5 KiB", "23.0 GiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// "0:07", "12:30", "3:05:00".
[[nodiscard]] std::string clock_text(double seconds);

// Columns as wide as their longest cell, two spaces between them, a line a row; the last column is not
// padded. Names in a file are somebody's: what could move a terminal's cursor is shown as '?'.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

// One line of a terminal of so many columns (0: without an end): what is too long is cut, and what could move
// the cursor is shown as '?'.
[[nodiscard]] std::string line_of(std::string_view text, std::size_t columns);

// Whether `text` is what `pattern` says: '*' is any characters or none, '?' is one, all others are
// themselves.
[[nodiscard]] bool matches(std::string_view text, std::string_view pattern);

// Whether one of the patterns matches; no patterns match everything.
[[nodiscard]] bool matches_any(std::string_view text, const std::vector<std::string>& patterns);

// That the folder is there in which `file` is to be made.
[[nodiscard]] Result<void> check_folder_of(const std::filesystem::path& file);

}  // namespace ratoon::cli
