#include "operator/runtime/kubeconfig.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/core/read_file.h"
#include "operator/runtime/read_yaml.h"

namespace ratoon::runtime {
namespace {

// Paths within a kubeconfig are relative to its folder.
std::string absolute(const std::filesystem::path& folder, const std::string& path) {
  return path.empty() ? path : (folder / path).string();
}

}  // namespace

Result<kube::Access> read_kubeconfig(const std::string& path, const std::string& context) {
  const auto document = read_yaml(path);
  if (!document) return document.error();
  const auto folder = std::filesystem::path(path).parent_path();
  auto access = kube::decode_kubeconfig(
      *document, context, [&](const std::string& file) { return read_file(absolute(folder, file)); });
  if (!access) return access.error().with_context(path);
  access->token_file = absolute(folder, access->token_file);
  access->ca_file = absolute(folder, access->ca_file);
  return access;
}

Result<kube::Access> read_service_account(const std::string& host, const std::string& port) {
  return kube::access_in_cluster(host, port, [](const std::string& file) { return read_file(file); });
}

}  // namespace ratoon::runtime
