#include "agent/src/objects/s3/protocol/xml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace ratoon::objects {
namespace {

constexpr int kElementDepthMax = 32;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

// Appends the character that an entity represents. `name` is the text between '&' and ';'.
bool append_entity(std::string& text, std::string_view name) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name == known) {
      text += character;
      return true;
    }
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const int base = name.starts_with('x') ? 16 : 10;
  if (base == 16) name.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, base);
  if (error != std::errc() || end != name.data() + name.size() || code == 0 || code > 0x10FFFF) return false;
  append_utf8(text, code);
  return true;
}

class XmlParser {
 public:
  explicit XmlParser(std::string_view document) : rest_(document) {}

  Result<XmlElement> document() {
    if (!skip_asides() || !rest_.starts_with('<')) return bad("the XML does not begin with an element");
    auto root = element(0);
    if (!root) return root;
    if (!skip_asides() || !rest_.empty()) return bad("the XML continues after its root element");
    return root;
  }

 private:
  static Error bad(const std::string& how) { return {ErrorKind::kCorrupted, "the reply is refused: " + how}; }

  // Skips spaces, comments and processing instructions.
  bool skip_asides() {
    while (true) {
      while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
      const bool is_comment = rest_.starts_with("<!--");
      if (!is_comment && !rest_.starts_with("<?")) return true;
      if (!skip_past(is_comment ? "-->" : "?>")) return false;
    }
  }

  bool skip_past(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }

  // Reads the name of an element after '<' and returns it without its namespace prefix, which is not needed.
  std::optional<std::string> open_name() {
    rest_.remove_prefix(1);
    const std::size_t end = rest_.find_first_of(" \t\r\n/>");
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    std::string_view name = rest_.substr(0, end);
    if (name.find_first_of("<&!?\"'=") != std::string_view::npos) return std::nullopt;
    full_name_ = name;
    rest_.remove_prefix(end);
    name.remove_prefix(name.find(':') + 1);
    return std::string(name);
  }

  // Reads the rest of a tag, up to its '>'. Returns true if the tag also closes its element ("/>").
  std::optional<bool> rest_of_tag() {
    char quote = '\0';
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '<') {
        return std::nullopt;
      } else if (c == '>') {
        const bool is_end = i > 0 && rest_[i - 1] == '/';
        rest_.remove_prefix(i + 1);
        return is_end;
      }
    }
    return std::nullopt;
  }

  Result<XmlElement> element(int depth) {
    if (depth > kElementDepthMax) return bad("the XML is nested too deeply");
    auto name = open_name();
    if (!name) return bad("the XML has a tag without a name");
    XmlElement element{.name = std::move(*name)};
    const std::string_view full_name = full_name_;
    const auto is_empty = rest_of_tag();
    if (!is_empty) return bad("the XML ends inside the tag " + element.name);
    if (*is_empty) return element;
    while (!rest_.starts_with("</")) {
      if (rest_.empty()) return bad("the XML ends inside " + element.name);
      if (auto taken = take_piece(element, depth); !taken) return taken.error();
    }
    rest_.remove_prefix(2);
    if (!rest_.starts_with(full_name)) return bad("the XML closes another element than " + element.name);
    rest_.remove_prefix(full_name.size());
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
    if (!rest_.starts_with('>')) return bad("the XML closes another element than " + element.name);
    rest_.remove_prefix(1);
    // Text that consists only of spaces between elements is ignored.
    if (!element.children.empty() && std::all_of(element.text.begin(), element.text.end(), is_space))
      element.text.clear();
    return element;
  }

  // Reads one child of an element: another element, a comment or a text.
  Result<void> take_piece(XmlElement& element, int depth) {
    if (rest_.starts_with("<!--"))
      return skip_past("-->") ? Result<void>() : bad("the XML ends in a comment");
    if (rest_.starts_with("<![CDATA[")) {
      const std::size_t end = rest_.find("]]>");
      if (end == std::string_view::npos) return bad("the XML ends inside a CDATA section");
      element.text.append(rest_.substr(9, end - 9));
      rest_.remove_prefix(end + 3);
      return {};
    }
    if (rest_.starts_with('<')) {
      auto child = this->element(depth + 1);
      if (!child) return child.error();
      element.children.push_back(std::move(*child));
      return {};
    }
    return take_text(element.text);
  }

  Result<void> take_text(std::string& text) {
    if (!rest_.starts_with('&')) {
      const std::size_t end = std::min(rest_.find_first_of("<&"), rest_.size());
      text.append(rest_.substr(0, end));
      rest_.remove_prefix(end);
      return {};
    }
    const std::size_t end = rest_.substr(0, 12).find(';');
    if (end == std::string_view::npos || !append_entity(text, rest_.substr(1, end - 1)))
      return bad("the XML has an entity that is not known");
    rest_.remove_prefix(end + 1);
    return {};
  }

  std::string_view rest_;
  std::string_view full_name_;  // of the tag that was opened last
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view child_name) const {
  for (const XmlElement& element : children) {
    if (element.name == child_name) return &element;
  }
  return nullptr;
}

std::string_view XmlElement::text_of(std::string_view child_name) const {
  const XmlElement* element = child(child_name);
  return element != nullptr ? std::string_view(element->text) : std::string_view();
}

const XmlElement* XmlElement::find(std::string_view wanted) const {
  if (name == wanted) return this;
  for (const XmlElement& element : children) {
    if (const XmlElement* found = element.find(wanted)) return found;
  }
  return nullptr;
}

Result<XmlElement> parse_xml(std::string_view document) {
  if (document.starts_with("\xEF\xBB\xBF")) document.remove_prefix(3);
  return XmlParser(document).document();
}

}  // namespace ratoon::objects
