#include "agent/src/session/options/misspelled_flags.h"

#include <algorithm>
#include <string>

namespace ratoon::session {
namespace {

constexpr std::size_t kShortFlagBytesMax = 5;  // "seed", "skip"

bool differs_by_one_typo(std::string_view written, std::string_view known) {
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

}  // namespace

std::string plain_flag_name(std::string_view word) {
  word = word.substr(0, word.find('='));
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string name(word);
  for (char& c : name) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

bool is_probable_misspelling(std::string_view word, std::string_view flag) {
  if (!word.starts_with('-') || word.substr(0, word.find('=')) == flag) return false;
  const std::string written = plain_flag_name(word);
  const std::string known = plain_flag_name(flag);
  if (written == known) return true;
  return known.size() > kShortFlagBytesMax && word.starts_with("--") && differs_by_one_typo(written, known);
}

}  // namespace ratoon::session
