#include "cli/job/unknown_fields.h"

#include <deque>
#include <utility>
#include <vector>

#include "base/core/split_join.h"
#include "base/core/utf8.h"
#include "cli/text/nearest_name.h"

namespace ratoon::cli {
namespace {

// Makes a name safe to print, and shortens it, because names in a file may have control characters.
std::string printable_name(std::string name) {
  constexpr std::size_t kBytesMax = 64;
  const bool is_long = name.size() > kBytesMax;
  return printable(cut_text(std::move(name), kBytesMax)) + (is_long ? "..." : "");
}

std::vector<std::string> field_names_in(const YAML::Node& schema) {
  std::vector<std::string> names;
  for (const auto& property : schema["properties"]) names.push_back(property.first.Scalar());
  return names;
}

std::string join_path(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// Returns the path of a field with that name in the spec, because users often place a field one level too
// high, where another Kubernetes kind has it.
std::string find_path_of_field(const std::string& name, const YAML::Node& root) {
  std::deque<std::pair<std::string, YAML::Node>> left;
  if (const YAML::Node spec = root["properties"]["spec"]) left.emplace_back("spec", spec);
  for (; !left.empty(); left.pop_front()) {
    const auto& [path, schema] = left.front();
    for (const auto& property : schema["properties"]) {
      const std::string here = join_path(path, property.first.Scalar());
      if (lower(property.first.Scalar()) == lower(name)) return here;
      const YAML::Node& child = property.second;
      left.emplace_back(child["items"] ? here + "[]" : here, child["items"] ? child["items"] : child);
    }
  }
  return "";
}

class UnknownFieldSearch {
 public:
  UnknownFieldSearch(const YAML::Node& root, std::string kind) : root_(root), kind_(std::move(kind)) {}

  std::optional<UnknownField> walk(const YAML::Node& value, const YAML::Node& schema,
                                   const std::string& path) const {
    if (const YAML::Node open = schema["x-kubernetes-preserve-unknown-fields"]; open && open.as<bool>())
      return {};
    if (path == "status") return {};  // written by an operator, perhaps a newer one, never by hand
    if (value.IsSequence() && schema["items"]) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (auto found = walk(value[i], schema["items"], path + "[" + std::to_string(i) + "]")) return found;
      }
    }
    if (!value.IsMap() || !schema["properties"]) return {};
    for (const auto& item : value) {
      const std::string& name = item.first.Scalar();
      const YAML::Node known = std::as_const(schema)["properties"][name];
      if (!known) return unknown(item.first, schema, path);
      if (auto found = walk(item.second, known, join_path(path, name))) return found;
    }
    return {};
  }

 private:
  UnknownField unknown(const YAML::Node& key, const YAML::Node& schema, const std::string& path) const {
    const std::string& name = key.Scalar();
    std::string sentence = join_path(path, printable_name(name)) + " is not a field of a " + kind_ + "; ";
    const auto names = field_names_in(schema);
    std::string meant = nearest_name(name, names);
    if (meant.empty()) meant = find_path_of_field(name, root_);
    sentence += meant.empty() ? "its fields: " + join(names, ", ") : "did you mean " + meant + "?";
    return {.line = key.Mark().line + 1, .sentence = std::move(sentence)};
  }

  const YAML::Node& root_;
  std::string kind_;
};

// Returns whether the field has the value, or is missing, perhaps because its name is misspelled.
bool has_field_value(const YAML::Node& document, const char* field, const std::string& value) {
  const YAML::Node found = document[field];
  return !found || (found.IsScalar() && found.Scalar() == value);
}

}  // namespace

std::optional<UnknownField> find_unknown_field(const YAML::Node& document, const YAML::Node& definition) {
  if (!document.IsMap()) return {};
  const YAML::Node about = definition["spec"];
  const auto kind = about["names"]["kind"].as<std::string>();
  if (!has_field_value(document, "kind", kind)) return {};
  for (const auto& version : about["versions"]) {
    if (!has_field_value(document, "apiVersion", about["group"].Scalar() + "/" + version["name"].Scalar()))
      continue;
    const YAML::Node root = version["schema"]["openAPIV3Schema"];
    return UnknownFieldSearch(root, kind).walk(document, root, "");
  }
  return {};
}

}  // namespace ratoon::cli
