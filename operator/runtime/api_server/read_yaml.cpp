#include "operator/runtime/api_server/read_yaml.h"

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/core/read_file.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

json to_json(const YAML::Node& node, int depth, std::size_t& values_left) {
  constexpr int kYamlDepthMax = 32;
  if (depth > kYamlDepthMax) throw YAML::Exception(node.Mark(), "nested too deep");
  if (values_left-- == 0) throw YAML::Exception(node.Mark(), "too many values");
  if (node.IsScalar()) {
    constexpr const char* kQuoted = "!";
    if (node.Tag() == kQuoted) return node.Scalar();
    if (node.Scalar() == "true") return true;
    if (node.Scalar() == "false") return false;
    return node.Scalar();
  }
  if (node.IsSequence()) {
    json list = json::array();
    for (const auto& item : node) list.push_back(to_json(item, depth + 1, values_left));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  json object = json::object();
  for (const auto& item : node) object[item.first.Scalar()] = to_json(item.second, depth + 1, values_left);
  return object;
}

}  // namespace

Result<json> parse_yaml(const std::string& text, std::string_view name) {
  try {
    std::size_t values_left = 100'000;
    return to_json(YAML::Load(text), 0, values_left);
  } catch (const YAML::Exception& error) {
    return Error(ErrorKind::kInvalid,
                 std::string(name) + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

Result<json> read_yaml(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  return parse_yaml(*text, path);
}

}  // namespace ratoon::runtime
