#include "operator/runtime/api_server/kubeconfig.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/core/read_file.h"
#include "operator/runtime/api_server/plugin_credentials.h"
#include "operator/runtime/api_server/read_yaml.h"

namespace ratoon::runtime {
namespace {

// Paths within a kubeconfig are relative to its folder.
std::string absolute_path(const std::filesystem::path& folder, const std::string& path) {
  return path.empty() ? path : (folder / path).lexically_normal().string();
}

}  // namespace

Result<kube::ApiServerAccess> read_kubeconfig(const std::string& path, const std::string& context,
                                              const RunProgram& run) {
  const auto document = read_yaml(path);
  if (!document) return document.error();
  const auto folder = std::filesystem::path(path).parent_path();
  auto access = kube::decode_kubeconfig(
      *document, context, [&](const std::string& file) { return read_file(absolute_path(folder, file)); });
  if (!access) return access.error().with_context(path);
  access->token_file = absolute_path(folder, access->token_file);
  access->ca_file = absolute_path(folder, access->ca_file);
  if (!access->plugin) return access;
  std::string& command = access->plugin->command;
  if (command.find('/') != std::string::npos) command = absolute_path(folder, command);
  auto credential = fetch_credential(*access->plugin, run);
  if (!credential) return credential.error().with_context(path);
  access->token = credential->token;
  access->token_expires_at = credential->expires_at;
  access->token_file.clear();
  if (!credential->certificate_pem.empty()) {
    access->certificate_pem = credential->certificate_pem;
    access->private_key_pem = credential->private_key_pem;
  }
  return access;
}

Result<kube::ApiServerAccess> read_service_account(const std::string& host, const std::string& port) {
  return kube::in_cluster_access(host, port, [](const std::string& file) { return read_file(file); });
}

}  // namespace ratoon::runtime
