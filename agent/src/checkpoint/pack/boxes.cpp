#include "agent/src/checkpoint/pack/boxes.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kTensorBytesMax = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kBoxSeparator = " of ";
constexpr std::size_t kNameBytesShown = 120;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return number;
}

std::optional<TensorShape> parse_shape(std::string_view text) {
  TensorShape shape;
  if (text.empty()) return shape;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto number = parse_number(text.substr(0, comma));
    if (!number || shape.size() == kDimensionsMax) return std::nullopt;
    shape.push_back(*number);
    if (comma == std::string_view::npos) return shape;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<std::uint64_t> count_bytes(ElementType type, const TensorShape& shape) {
  bool is_empty = false;
  std::uint64_t bytes = size_of(type);
  for (const std::uint64_t length : shape) {
    is_empty = is_empty || length == 0;
    if (length != 0 && bytes > kTensorBytesMax / length) return std::nullopt;
    bytes *= std::max<std::uint64_t>(length, 1);
  }
  return is_empty ? 0 : bytes;
}

bool box_holds(const TensorBox& box, const TensorShape& shape) {
  if (box.begin.size() != shape.size() || box.whole_shape.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > box.whole_shape[i] || box.begin[i] > box.whole_shape[i] - shape[i]) return false;
  }
  return true;
}

std::string to_text(const TensorShape& shape) {
  std::string text;
  for (const std::uint64_t size : shape) {
    if (!text.empty()) text += ',';
    text += std::to_string(size);
  }
  return text;
}

std::string to_text(const TensorBox& box) {
  return to_text(box.begin).append(kBoxSeparator).append(to_text(box.whole_shape));
}

std::optional<TensorBox> parse_box(std::string_view text) {
  const std::size_t of = text.find(kBoxSeparator);
  if (of == std::string_view::npos) return std::nullopt;
  auto begin = parse_shape(text.substr(0, of));
  auto whole = parse_shape(text.substr(of + kBoxSeparator.size()));
  if (!begin || !whole) return std::nullopt;
  return TensorBox{.begin = std::move(*begin), .whole_shape = std::move(*whole)};
}

std::string in_quotes(std::string_view name) {
  const bool is_long = name.size() > kNameBytesShown;
  std::size_t shown = is_long ? kNameBytesShown : name.size();
  // Do not cut a name inside a UTF-8 character: all bytes of a character except the first begin with the bits
  // 10.
  while (is_long && shown > 0 && (static_cast<unsigned char>(name[shown]) & 0xc0) == 0x80) --shown;
  return "'" + std::string(name.substr(0, shown)) + (is_long ? "...'" : "'");
}

}  // namespace ratoon::checkpoint
