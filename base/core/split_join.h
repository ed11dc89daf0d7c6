// Joins lists to text and splits text: "node-1,node-2" for programs, "node-1, node-2" for people.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ratoon {

// `text_of` converts one item to text; leave it out if the items are texts themselves.
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

// Returns all parts of the text, including empty parts; an empty text has no parts.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char between);

}  // namespace ratoon
