#include "cli/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ratoon::cli {
namespace {

// Letters to insert, remove or replace; the capitals of a name do not count, and of a cut-off one not its
// end.
std::size_t slips_between(const std::string& written, const std::string& known) {
  constexpr std::size_t kBeginning = 4;
  if (written.size() >= kBeginning && known.starts_with(written)) return 1;
  std::vector<std::size_t> row(known.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < written.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < known.size(); ++k) {
      const std::size_t replaced = diagonal + (written[i] == known[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string nearest(const std::string& written, const std::vector<std::string>& names) {
  constexpr std::size_t kSlipsMax = 3;
  constexpr std::size_t kNameBytesMax = 64;
  if (written.size() > kNameBytesMax) return "";
  std::string best;
  std::size_t fewest = std::clamp<std::size_t>(written.size() / 3, 1, kSlipsMax) + 1;
  for (const auto& name : names) {
    const std::size_t slips = slips_between(lower(written), lower(name));
    if (slips < fewest) {
      fewest = slips;
      best = name;
    }
  }
  return best;
}

}  // namespace ratoon::cli
