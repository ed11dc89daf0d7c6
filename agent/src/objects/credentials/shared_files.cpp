#include "agent/src/objects/credentials/shared_files.h"

#include <algorithm>

namespace ratoon::objects {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A comment after a value must follow a space, because keys may contain '#'.
std::string_view without_comment(std::string_view value) {
  for (std::size_t i = 1; i < value.size(); ++i) {
    if ((value[i] == '#' || value[i] == ';') && is_space(value[i - 1])) return trim(value.substr(0, i));
  }
  return value;
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// Removes the quotes in the name of a section, so that `profile "my name"` becomes `profile my
// name`.
std::string section_name(std::string_view text) {
  std::string name;
  for (const char c : trim(text)) {
    if (c == '"' || c == '\'') continue;
    if (is_space(c) && name.ends_with(' ')) continue;
    name += is_space(c) ? ' ' : c;
  }
  return name;
}

const Settings* find(const Sections& sections, const std::string& name) {
  const auto found = sections.find(name);
  return found == sections.end() ? nullptr : &found->second;
}

class SharedFileParser {
 public:
  explicit SharedFileParser(std::string_view shown) : display_name_(shown) {}

  Result<void> take(std::string_view line) {
    ++line_number_;
    const bool is_indented = !line.empty() && is_space(line.front());
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') return {};
    if (text.front() == '[' && !is_indented) return begin_section(text);
    const std::size_t equals = text.find('=');
    if (section_ == nullptr) return bad("the line comes before the first [section]");
    if (equals == std::string_view::npos || equals == 0)
      return is_indented ? Result<void>() : bad("the line is neither [section] nor name = value");
    std::string name = to_lower(trim(text.substr(0, equals)));
    const std::string_view value = trim(text.substr(equals + 1));
    if (is_indented && !group_.empty()) {
      name = group_ + '.' + name;
    } else {
      group_ = value.empty() ? name : "";
    }
    (*section_)[name] = without_comment(value);
    return {};
  }

  Sections sections;

 private:
  Result<void> begin_section(std::string_view text) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad("the line has a '[' without a ']'");
    section_ = &sections[section_name(text.substr(1, end - 1))];
    group_.clear();
    return {};
  }

  // The error message does not show the line itself, since the line may contain a key.
  Error bad(std::string_view problem) const {
    return {ErrorKind::kInvalid, "line " + std::to_string(line_number_) + " of " +
                                     std::string(display_name_) + ": " + std::string(problem)};
  }

  std::string_view display_name_;
  int line_number_ = 0;
  Settings* section_ = nullptr;
  std::string group_;
};

}  // namespace

Result<Sections> parse_shared_file(std::string_view text, std::string_view shown) {
  SharedFileParser reader(shown);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto taken = reader.take(text.substr(0, end)); !taken) return taken.error();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(reader.sections);
}

std::string Profile::get(const std::string& setting) const {
  for (const Settings* settings : {&credentials, &config}) {
    if (const auto found = settings->find(setting); found != settings->end()) return found->second;
  }
  return "";
}

std::optional<Profile> find_profile(const std::string& name, const Sections& credentials,
                                    const Sections& config) {
  const Settings* own = find(credentials, name);
  const Settings* more = find(config, "profile " + name);
  if (more == nullptr && name == "default") more = find(config, name);
  if (own == nullptr && more == nullptr) return std::nullopt;
  Profile profile{.name = name};
  if (own != nullptr) profile.credentials = *own;
  if (more != nullptr) profile.config = *more;
  if (const Settings* services = find(config, "services " + profile.get("services")))
    profile.services = *services;
  return profile;
}

}  // namespace ratoon::objects
