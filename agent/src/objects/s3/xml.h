// The little XML that S3 and STS answer with: elements, text, the five entities and numbered ones. Attributes
// are passed over. No document of theirs needs more, and none may: there are no entities to declare. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::objects {

struct XmlElement {
  std::string name;  // without the namespace before a ':'
  std::string text{};
  std::vector<XmlElement> children{};

  // The first child of that name, or null.
  [[nodiscard]] const XmlElement* child(std::string_view child_name) const;
  // Its text, or empty.
  [[nodiscard]] std::string_view text_of(std::string_view child_name) const;
  // The first element of that name anywhere in it, or null.
  [[nodiscard]] const XmlElement* find(std::string_view wanted) const;
};

[[nodiscard]] Result<XmlElement> parse_xml(std::string_view document);

}  // namespace ratoon::objects
