#include "cli/text/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ratoon::cli {
namespace {

// Returns the number of edits between two names: a letter inserted, removed, replaced or swapped with the
// next one. Counts one edit if `written` is the beginning of `known`.
std::size_t edit_distance(const std::string& written, const std::string& known) {
  constexpr std::size_t kPrefixLengthMin = 4;
  if (written.size() >= kPrefixLengthMin && known.starts_with(written)) return 1;
  std::vector<std::size_t> before(known.size() + 1);  // the row before `last`
  std::vector<std::size_t> last(known.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= written.size(); ++i) {
    std::vector<std::size_t> row(known.size() + 1, i);
    for (std::size_t k = 1; k <= known.size(); ++k) {
      const bool is_same = written[i - 1] == known[k - 1];
      row[k] = std::min({last[k - 1] + (is_same ? 0 : 1), row[k - 1] + 1, last[k] + 1});
      if (i > 1 && k > 1 && written[i - 1] == known[k - 2] && written[i - 2] == known[k - 1])
        row[k] = std::min(row[k], before[k - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string nearest_name(const std::string& written, const std::vector<std::string>& names) {
  constexpr std::size_t kSlipsMax = 3;
  constexpr std::size_t kNameBytesMax = 64;
  if (written.size() > kNameBytesMax) return "";
  std::string best;
  std::size_t fewest = std::clamp<std::size_t>(written.size() / 3, 1, kSlipsMax) + 1;
  for (const auto& name : names) {
    const std::size_t slips = edit_distance(lower(written), lower(name));
    if (slips < fewest) {
      fewest = slips;
      best = name;
    }
  }
  return best;
}

}  // namespace ratoon::cli
