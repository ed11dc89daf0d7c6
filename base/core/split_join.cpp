#include "base/core/split_join.h"

#include <algorithm>

namespace ratoon {

std::vector<std::string> split(std::string_view text, char between) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace ratoon
