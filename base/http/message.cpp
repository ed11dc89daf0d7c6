#include "base/http/message.h"

#include "base/http/syntax.h"

namespace ratoon::http {

void Headers::set(std::string name, std::string value) {
  std::erase_if(fields_, [&](const auto& field) { return equals_ignoring_case(field.first, name); });
  add(std::move(name), std::move(value));
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (equals_ignoring_case(field, name)) return value;
  }
  return {};
}

bool Headers::contains(std::string_view name) const {
  for (const auto& field : fields_) {
    if (equals_ignoring_case(field.first, name)) return true;
  }
  return false;
}

}  // namespace ratoon::http
