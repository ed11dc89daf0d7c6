#include "agent/src/session/options/misspelled_flags.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace ratoon::session {
namespace {

constexpr std::size_t kShortBytesMax = 5;  // "seed", "skip"

std::string name_in(std::string_view word) {
  word = word.substr(0, word.find('='));
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string name(word);
  for (char& c : name) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

bool is_one_slip(std::string_view written, std::string_view known) {
  const auto [a, b] = std::ranges::mismatch(written, known);
  const std::string_view rest(a, written.end());
  const std::string_view expected(b, known.end());
  const auto is_rest = [](std::string_view text, std::string_view other, std::size_t from,
                          std::size_t other_from) {
    return from <= text.size() && other_from <= other.size() && text.substr(from) == other.substr(other_from);
  };
  const bool is_swapped = rest.size() >= 2 && expected.size() >= 2 && rest[0] == expected[1] &&
                          rest[1] == expected[0] && is_rest(rest, expected, 2, 2);
  return is_swapped || is_rest(rest, expected, 1, 1) || is_rest(rest, expected, 1, 0) ||
         is_rest(rest, expected, 0, 1);
}

const OptionRow* find_row(std::string_view word, const std::vector<OptionRow>& rows) {
  const std::string_view flag = word.substr(0, word.find('='));
  const auto found = std::ranges::find_if(
      rows, [&](const OptionRow& row) { return row.flag != nullptr && flag == row.flag; });
  return found == rows.end() ? nullptr : &*found;
}

Error nearly(std::string_view word, const char* flag) {
  const std::string written(word.substr(0, word.find('=')));
  return {ErrorKind::kInvalid, written + " is unknown and almost equals " + flag + ": write " + flag +
                                   ", or, if " + written +
                                   " is a flag of the program, put it after a word '--'"};
}

}  // namespace

bool is_nearly(std::string_view word, std::string_view flag) {
  if (!word.starts_with('-') || word.substr(0, word.find('=')) == flag) return false;
  const std::string written = name_in(word);
  const std::string known = name_in(flag);
  if (written == known) return true;
  return known.size() > kShortBytesMax && word.starts_with("--") && is_one_slip(written, known);
}

Result<void> check_near_flags(std::span<const char* const> argv, const std::vector<OptionRow>& rows) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (const OptionRow* row = find_row(word, rows)) {
      const bool is_switch = std::holds_alternative<bool*>(row->target);
      const bool has_value_behind =
          word == row->flag && (!is_switch || (i + 1 < argv.size() && argv[i + 1][0] != '-'));
      if (has_value_behind) ++i;
      continue;
    }
    for (const OptionRow& row : rows)
      if (row.flag != nullptr && is_nearly(word, row.flag)) return nearly(word, row.flag);
  }
  return {};
}

}  // namespace ratoon::session
