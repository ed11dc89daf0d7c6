#include "base/contract/fields.h"

#include <algorithm>
#include <cmath>

#include "base/contract/limits.h"
#include "base/core/never_destroyed.h"

namespace ratoon {
namespace {

using nlohmann::json;

const json& empty_object() {
  static const NeverDestroyed<json> value(json::object());
  return *value;
}

const json& empty_list() {
  static const NeverDestroyed<json> value(json::array());
  return *value;
}

// Returns the found JSON value as text, shortened so that it fits into an error message.
std::string describe(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

Fields::Fields(const json& object, std::string path, std::optional<Error>& complaint)
    : object_(&object), path_(std::move(path)), error_(&complaint) {
  if (object.is_object()) return;
  if (is_sound()) {
    *error_ = Error(ErrorKind::kInvalid, (path_.empty() ? "the message" : path_) +
                                             " must be a JSON object, found " + describe(object));
  }
  object_ = &empty_object();
}

void Fields::complain(const char* name, std::string_view expectation) {
  if (!is_sound()) return;
  const auto found = object_->find(name);
  record_error_without_value(
      name, std::string(expectation) + ", found " + (found == object_->end() ? "nothing" : describe(*found)));
}

void Fields::record_error_without_value(const char* name, std::string_view expectation) {
  if (!is_sound()) return;
  *error_ = Error(ErrorKind::kInvalid,
                  (path_.empty() ? "" : path_ + ".") + name + " must be " + std::string(expectation));
}

const json* Fields::find(const char* name) {
  const auto it = object_->find(name);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

std::string Fields::text(const char* name, std::size_t bytes_max) {
  std::string value = optional_text(name, bytes_max);
  if (value.empty()) complain(name, "a text that is not empty");
  return value;
}

std::string Fields::optional_text(const char* name, std::size_t bytes_max) {
  const json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_string() || value->get_ref<const std::string&>().size() > bytes_max) {
    const char* quotes = value->is_number() || value->is_boolean() ? " in quotes" : "";
    complain(name, std::string("a text") + quotes + " of at most " + std::to_string(bytes_max) + " bytes");
    return {};
  }
  return value->get<std::string>();
}

std::uint64_t Fields::whole(const char* name, std::uint64_t max) {
  const json* value = find(name);
  if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > max) {
    complain(name, "a whole number from 0 to " + std::to_string(max));
    return 0;
  }
  return value->get<std::uint64_t>();
}

std::uint64_t Fields::optional_whole_number(const char* name, std::uint64_t max) {
  return find(name) == nullptr ? 0 : whole(name, max);
}

double Fields::seconds(const char* name) {
  const json* value = find(name);
  const double number = value != nullptr && value->is_number() ? value->get<double>() : -1;
  if (!std::isfinite(number) || number < 0 || number > contract::kSecondsMax) {
    complain(name, "a number of seconds from 0 to 10 years");
    return 0;
  }
  return number;
}

bool Fields::flag(const char* name) {
  const json* value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) complain(name, "true or false");
  return value->is_boolean() && value->get<bool>();
}

Fields Fields::child(const json& value, const std::string& name) {
  return Fields(value, path_.empty() ? name : path_ + "." + name, *error_);
}

Fields Fields::object(const char* name) {
  const json* value = find(name);
  if (value == nullptr) complain(name, "an object");
  return child(value == nullptr ? empty_object() : *value, name);
}

const json& Fields::list(const char* name, std::size_t items_max) {
  const json* value = find(name);
  if (value == nullptr) return empty_list();
  if (!value->is_array() || value->size() > items_max) {
    complain(name, "a list of at most " + std::to_string(items_max) + " items");
    return empty_list();
  }
  return *value;
}

}  // namespace ratoon
