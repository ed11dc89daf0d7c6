#include "cli/text/text_format.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/core/count_with_noun.h"
#include "base/core/utf8.h"

namespace ratoon::cli {
namespace {

// Returns the text's width on a terminal: each UTF-8 character counts as one column.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return count_with_noun(bytes, "byte");
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<unsigned long long>(std::clamp(seconds, 0.0, 3.6e9));
  std::array<char, 32> text{};
  if (whole < 3600)
    std::snprintf(text.data(), text.size(), "%llu:%02llu", whole / 60, whole % 60);
  else
    std::snprintf(text.data(), text.size(), "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60, whole % 60);
  return text.data();
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(printable(row[i])));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = printable(row[i]);
      text += cell;
      if (i + 1 < row.size()) text.append(widths[i] - width_of(cell) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string line_of(std::string_view text, std::size_t columns) {
  std::string line = printable(text);
  if (columns == 0 || width_of(line) <= columns) return line;
  std::size_t bytes = 0;
  for (std::size_t shown = 0; bytes < line.size(); ++bytes) {
    const bool begins_character = (static_cast<unsigned char>(line[bytes]) & 0xc0) != 0x80;
    if (begins_character && ++shown == columns) break;
  }
  return line.substr(0, bytes) + ">";
}

// After a mismatch, tries again only from the last '*': if the last '*' leads to no match, an earlier '*'
// leads to no match either.
bool matches(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_at = 0;
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (in_pattern < pattern.size() &&
               (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at])) {
      ++at;
      ++in_pattern;
    } else if (star != std::string_view::npos) {
      at = ++star_at;
      in_pattern = star + 1;
    } else {
      return false;
    }
  }
  return pattern.substr(in_pattern).find_first_not_of('*') == std::string_view::npos;
}

bool matches_any(std::string_view text, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(text, pattern); });
}

Result<void> check_parent_folder(const std::filesystem::path& file) {
  const auto folder = file.parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return {};
  return Error(ErrorKind::kInvalid, "there is no folder " + folder.string() + " for " +
                                        file.filename().string() + ": create the folder first");
}

}  // namespace ratoon::cli
