#include "operator/runtime/kubeconfig.h"

#include <filesystem>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/core/read_file.h"
#include "operator/kube/lenient.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

// Scalars stay texts: a kubeconfig has one truth value, which is read as such.
json to_json(const YAML::Node& node, int depth, std::size_t& values_left) {
  constexpr int kDepthMax = 32;
  if (depth > kDepthMax) throw YAML::Exception(node.Mark(), "nested too deep");
  if (values_left-- == 0) throw YAML::Exception(node.Mark(), "too many values");
  if (node.IsScalar()) {
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

// Paths within a kubeconfig are relative to its folder.
std::string absolute(const std::filesystem::path& folder, const std::string& path) {
  return path.empty() ? path : (folder / path).string();
}

}  // namespace

Result<kube::Access> read_kubeconfig(const std::string& path, const std::string& context) {
  const auto text = read_file(path);
  if (!text) return text.error();
  json document;
  try {
    std::size_t values_left = 100'000;
    document = to_json(YAML::Load(*text), 0, values_left);
  } catch (const YAML::Exception& error) {
    return Error(ErrorKind::kInvalid, path + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  const auto folder = std::filesystem::path(path).parent_path();
  auto access = kube::decode_kubeconfig(
      document, context, [&](const std::string& file) { return read_file(absolute(folder, file)); });
  if (!access) return access.error().with_context(path);
  access->token_file = absolute(folder, access->token_file);
  return access;
}

Result<kube::Access> read_service_account(const std::string& host, const std::string& port) {
  return kube::access_in_cluster(host, port, [](const std::string& file) { return read_file(file); });
}

}  // namespace ratoon::runtime
