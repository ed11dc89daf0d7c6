// Parses the XML of S3 and STS replies: elements, text, the five named entities and numeric entities.
// Attributes are skipped. Returns an error for a document that declares entities of its own. Pure.
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

  // Returns the first child element named `child_name`, or null if there is none.
  [[nodiscard]] const XmlElement* child(std::string_view child_name) const;
  // Returns the text of the first child named `child_name`, or an empty text.
  [[nodiscard]] std::string_view text_of(std::string_view child_name) const;
  // Returns the first element named `wanted` in this tree of elements, or null if there is none.
  [[nodiscard]] const XmlElement* find(std::string_view wanted) const;
};

[[nodiscard]] Result<XmlElement> parse_xml(std::string_view document);

}  // namespace ratoon::objects
