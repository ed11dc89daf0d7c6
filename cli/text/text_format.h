// cli/text/: formats text for people. text_format.h formats numbers and tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::cli {

// Formats a size: "17 bytes", "1.5 KiB", "23.0 GiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// Formats a duration like a clock: "0:07", "12:30", "3:05:00".
[[nodiscard]] std::string duration_text(double seconds);

// Formats a table with one line per row. Columns are as wide as their longest cell, with two spaces between
// them; the last column is not padded. Replaces bytes that could move a terminal's cursor by '?', because
// cells may contain names from files.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

// Returns one line of at most `columns` columns (0: no limit). Cuts longer text, and shows bytes that could
// move the cursor as '?'.
[[nodiscard]] std::string line_of(std::string_view text, std::size_t columns);

// Returns whether `text` matches `pattern`: '*' matches any number of characters, '?' matches one character,
// and any other character matches itself.
[[nodiscard]] bool matches(std::string_view text, std::string_view pattern);

// Returns whether one of the patterns matches `text`; an empty list matches every text.
[[nodiscard]] bool matches_any(std::string_view text, const std::vector<std::string>& patterns);

// Returns an error if the folder for `file` does not exist.
[[nodiscard]] Result<void> check_parent_folder(const std::filesystem::path& file);

}  // namespace ratoon::cli
