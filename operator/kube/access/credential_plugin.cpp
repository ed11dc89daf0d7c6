#include "operator/kube/access/credential_plugin.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/contract/fields.h"
#include "base/core/utf8.h"
#include "operator/kube/access/base64.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr const char* kRequestVariable = "KUBERNETES_EXEC_INFO";
constexpr const char* kExecCredentialKind = "ExecCredential";
constexpr auto kVersions = std::to_array<std::string_view>(
    {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"});
constexpr std::size_t kPrintedBytesMax = std::size_t{1} << 20U;
constexpr int kDepthMax = 32;

// Returns the request (ExecCredential) to the plugin. The request says that the plugin has no terminal.
std::string make_exec_request(const std::string& api_version, const json& exec, const json& cluster,
                              std::string_view ca_pem) {
  json spec = {{"interactive", false}};
  if (bool_field(exec, "provideClusterInfo")) {
    json about = {{"server", string_field(cluster, "server")}};
    for (const char* field : {"tls-server-name", "proxy-url"})
      if (const std::string text = string_field(cluster, field); !text.empty()) about[field] = text;
    if (!ca_pem.empty()) about["certificate-authority-data"] = encode_base64(ca_pem);
    for (const auto& extension : items_of(cluster, "extensions"))
      if (string_field(extension, "name") == "client.authentication.k8s.io/exec")
        about["config"] = child(extension, "extension");
    spec["cluster"] = std::move(about);
  }
  return dump({{"apiVersion", api_version}, {"kind", kExecCredentialKind}, {"spec", std::move(spec)}});
}

std::optional<WallTime> parse_expiration(std::string_view text) {
  const std::string_view year = text.substr(0, 4);
  // Some plugins give credentials that never expire a time beyond the range of WallTime.
  if (text.size() > 19 && year > "2261" && year <= "9999") return WallTime{Duration::max()};
  return parse_rfc3339(text);
}

Error invalid_plugin_output(const CredentialPlugin& plugin, const std::string& problem) {
  return Error(ErrorKind::kInvalid,
               "the credential plugin '" + plugin.command + "' answered with " + problem +
                   ": run it by hand with the arguments of the kubeconfig and check its output");
}

}  // namespace

Result<CredentialPlugin> decode_credential_plugin(const json& exec, const json& cluster,
                                                  std::string_view ca_pem) {
  CredentialPlugin plugin{.api_version = string_field(exec, "apiVersion"),
                          .command = string_field(exec, "command"),
                          .arguments = {},
                          .variables = {},
                          .install_hint = string_field(exec, "installHint")};
  if (plugin.command.empty()) return Error(ErrorKind::kInvalid, "the kubeconfig's 'exec' names no command");
  if (std::ranges::find(kVersions, plugin.api_version) == kVersions.end())
    return Error(ErrorKind::kInvalid,
                 "the kubeconfig's 'exec' has the apiVersion '" + cut_text(plugin.api_version, 100) +
                     "'; it must be client.authentication.k8s.io/v1 or v1beta1: let its tool "
                     "write the kubeconfig again");
  if (string_field(exec, "interactiveMode") == "Always")
    return Error(ErrorKind::kInvalid,
                 "the credential plugin '" + plugin.command +
                     "' needs a terminal (interactiveMode: Always), but Ratoon gives it none: use a plugin "
                     "that does not need it, or give the user a token or a client certificate");
  for (const auto& word : items_of(exec, "args")) {
    if (!word.is_string())
      return Error(ErrorKind::kInvalid,
                   "the kubeconfig's 'exec' has an argument that is not a text: quote it");
    plugin.arguments.push_back(word.get<std::string>());
  }
  for (const auto& variable : items_of(exec, "env"))
    if (const std::string name = string_field(variable, "name"); !name.empty())
      plugin.variables[name] = string_field(variable, "value");
  plugin.variables[kRequestVariable] = make_exec_request(plugin.api_version, exec, cluster, ca_pem);
  return plugin;
}

Result<PluginCredential> decode_plugin_credential(const CredentialPlugin& plugin, std::string_view printed) {
  const auto document = parse_json(printed, kPrintedBytesMax, kDepthMax);
  if (!document) return invalid_plugin_output(plugin, "no JSON (" + document.error().message() + ")");
  if (string_field(*document, "kind") != kExecCredentialKind ||
      string_field(*document, "apiVersion") != plugin.api_version)
    return invalid_plugin_output(plugin, "'" + cut_text(string_field(*document, "kind"), 100) + "' of '" +
                                             cut_text(string_field(*document, "apiVersion"), 100) +
                                             "' instead of " + kExecCredentialKind + " of " +
                                             plugin.api_version);
  const json& status = child(*document, "status");
  PluginCredential credential{.token = string_field(status, "token"),
                              .certificate_pem = string_field(status, "clientCertificateData"),
                              .private_key_pem = string_field(status, "clientKeyData"),
                              .expires_at = std::nullopt};
  if (credential.token.empty() && credential.certificate_pem.empty())
    return invalid_plugin_output(plugin, "neither a token nor a client certificate");
  if (credential.certificate_pem.empty() != credential.private_key_pem.empty())
    return invalid_plugin_output(plugin, "only one of client certificate and client key; both are needed");
  const bool has_line_end =
      std::ranges::any_of(credential.token, [](unsigned char c) { return c < 0x21 || c > 0x7e; });
  if (has_line_end) return invalid_plugin_output(plugin, "a token with spaces or control characters in it");
  if (const std::string ends = string_field(status, "expirationTimestamp"); !ends.empty()) {
    credential.expires_at = parse_expiration(ends);
    if (!credential.expires_at)
      return invalid_plugin_output(plugin, "the expirationTimestamp '" + cut_text(ends, 100) + "'");
  }
  return credential;
}

}  // namespace ratoon::kube
