// A parser for the XML of S3 and STS replies: elements, text, the five named entities and numeric ones.
// Attributes are skipped. Documents that declare entities are refused. Pure.
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

  // Returns the first child of that name, or null.
  [[nodiscard]] const XmlElement* child(std::string_view child_name) const;
  // Returns the text of that child, or an empty text.
  [[nodiscard]] std::string_view text_of(std::string_view child_name) const;
  // Returns the first element of that name in this tree, or null.
  [[nodiscard]] const XmlElement* find(std::string_view wanted) const;
};

[[nodiscard]] Result<XmlElement> parse_xml(std::string_view document);

}  // namespace ratoon::objects
