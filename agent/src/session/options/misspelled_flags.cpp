#include "agent/src/session/options/misspelled_flags.h"

#include <algorithm>
#include <string>

namespace ratoon::session {
namespace {

constexpr std::size_t kShortFlagBytesMax = 5;  // "seed", "skip"

// How a written word differs from a known one.
enum class Typo { kNone, kSwapped, kMissing, kDoubled, kAdded, kReplaced, kOther };

Typo typo_of(std::string_view written, std::string_view known) {
  const auto [a, b] = std::ranges::mismatch(written, known);
  const std::string_view rest(a, written.end());
  const std::string_view expected(b, known.end());
  if (rest.empty() && expected.empty()) return Typo::kNone;
  const auto is_equal_after = [&](std::size_t of_rest, std::size_t of_expected) {
    return of_rest <= rest.size() && of_expected <= expected.size() &&
           rest.substr(of_rest) == expected.substr(of_expected);
  };
  if (is_equal_after(2, 2) && rest[0] == expected[1] && rest[1] == expected[0]) return Typo::kSwapped;
  if (is_equal_after(0, 1)) return Typo::kMissing;
  if (is_equal_after(1, 0)) {
    const bool is_doubled = a != written.begin() && *(a - 1) == *a;
    return is_doubled ? Typo::kDoubled : Typo::kAdded;
  }
  return is_equal_after(1, 1) ? Typo::kReplaced : Typo::kOther;
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
  const Typo typo = typo_of(written, known);
  if (typo == Typo::kNone) return true;
  if (typo == Typo::kOther || !word.starts_with("--")) return false;
  const bool gives_another_word = typo == Typo::kAdded || typo == Typo::kReplaced;
  return known.size() > kShortFlagBytesMax || !gives_another_word;
}

}  // namespace ratoon::session
