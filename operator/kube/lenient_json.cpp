#include "operator/kube/lenient_json.h"

#include <charconv>
#include <limits>

#include "base/core/never_destroyed.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

}  // namespace

const json& child(const json& value, const char* name) {
  static const NeverDestroyed<json> nothing;
  if (!value.is_object()) return *nothing;
  const auto it = value.find(name);
  return it == value.end() ? *nothing : *it;
}

const json& items_of(const json& value, const char* name) {
  static const NeverDestroyed<json> nothing(json::array());
  const json& list = child(value, name);
  return list.is_array() ? list : *nothing;
}

std::string string_field(const json& value, const char* name) {
  const json& text = child(value, name);
  return text.is_string() ? text.get<std::string>() : std::string();
}

std::optional<std::int64_t> int_field(const json& value, const char* name) {
  const json& number = child(value, name);
  if (!number.is_number_integer()) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (number.is_number_unsigned() && number.get<std::uint64_t>() > kMax) return std::nullopt;
  return number.get<std::int64_t>();
}

bool bool_field(const json& value, const char* name) {
  const json& flag = child(value, name);
  return flag.is_boolean() && flag.get<bool>();
}

json& ensure_list(json& object, const char* name) {
  json& list = object[name];
  if (!list.is_array()) list = json::array();
  return list;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace ratoon::kube
