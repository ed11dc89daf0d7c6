// Lists as text, and back: "node-1,node-2" for programs, "node-1, node-2" for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ratoon {

// `text_of` returns the text of one item, if the item is not a text itself.
template <class Items, class TextOf = std::identity>
[[nodiscard]] std::string join(const Items& items, std::string_view between, TextOf text_of = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!std::exchange(is_first, false)) text += between;
    text += std::invoke(text_of, item);
  }
  return text;
}

// Returns all parts, also empty parts; an empty text has no parts.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char between);

}  // namespace ratoon
