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
constexpr const char* kKind = "ExecCredential";
constexpr auto kVersions = std::to_array<std::string_view>(
    {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"});
constexpr std::size_t kPrintedBytesMax = std::size_t{1} << 20U;
constexpr int kDepthMax = 32;

// Returns the request (ExecCredential) to the plugin; it always says that there is no terminal.
std::string request_of(const std::string& api_version, const json& exec, const json& cluster,
                       std::string_view ca_pem) {
  json spec = {{"interactive", false}};
  if (flag_in(exec, "provideClusterInfo")) {
    json about = {{"server", text_in(cluster, "server")}};
    for (const char* field : {"tls-server-name", "proxy-url"})
      if (const std::string text = text_in(cluster, field); !text.empty()) about[field] = text;
    if (!ca_pem.empty()) about["certificate-authority-data"] = encode_base64(ca_pem);
    for (const auto& extension : items_of(cluster, "extensions"))
      if (text_in(extension, "name") == "client.authentication.k8s.io/exec")
        about["config"] = child(extension, "extension");
    spec["cluster"] = std::move(about);
  }
  return dump({{"apiVersion", api_version}, {"kind", kKind}, {"spec", std::move(spec)}});
}

// Parses an RFC 3339 time with any fraction and any offset, because plugins come from many languages.
std::optional<WallTime> parse_time(std::string_view text) {
  constexpr std::size_t kSecondsEnd = 19;  // 2026-11-21T11:38:21
  if (text.size() <= kSecondsEnd) return std::nullopt;
  if (text.substr(0, 4) > "2261" && text.substr(0, 4) <= "9999")
    return WallTime{Duration::max()};  // beyond the range of WallTime
  const auto whole = parse_rfc3339(std::string(text.substr(0, kSecondsEnd)) + "Z");
  std::string_view rest = text.substr(kSecondsEnd);
  if (rest.starts_with('.')) {
    const auto end = rest.find_first_not_of("0123456789", 1);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  }
  if (!whole || rest == "Z" || rest == "z") return whole;
  const bool is_offset = rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':';
  const auto hours = is_offset ? parse_whole(rest.substr(1, 2)) : std::nullopt;
  const auto minutes = is_offset ? parse_whole(rest.substr(4, 2)) : std::nullopt;
  if (!hours || !minutes) return std::nullopt;
  const Duration ahead = std::chrono::minutes(60 * *hours + *minutes) * (rest[0] == '+' ? 1 : -1);
  return WallTime{whole->since_epoch - ahead};
}

Error wrong_answer(const CredentialPlugin& plugin, const std::string& problem) {
  return Error(ErrorKind::kInvalid,
               "the credential plugin '" + plugin.command + "' answered with " + problem +
                   ": run it by hand with the arguments of the kubeconfig and check its output");
}

}  // namespace

Result<CredentialPlugin> decode_credential_plugin(const json& exec, const json& cluster,
                                                  std::string_view ca_pem) {
  CredentialPlugin plugin{.api_version = text_in(exec, "apiVersion"),
                          .command = text_in(exec, "command"),
                          .arguments = {},
                          .variables = {},
                          .install_hint = text_in(exec, "installHint")};
  if (plugin.command.empty()) return Error(ErrorKind::kInvalid, "the kubeconfig's 'exec' names no command");
  if (std::ranges::find(kVersions, plugin.api_version) == kVersions.end())
    return Error(ErrorKind::kInvalid,
                 "the kubeconfig's 'exec' has the apiVersion '" + cut_text(plugin.api_version, 100) +
                     "'; it must be client.authentication.k8s.io/v1 or v1beta1: let its tool "
                     "write the kubeconfig again");
  if (text_in(exec, "interactiveMode") == "Always")
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
    if (const std::string name = text_in(variable, "name"); !name.empty())
      plugin.variables[name] = text_in(variable, "value");
  plugin.variables[kRequestVariable] = request_of(plugin.api_version, exec, cluster, ca_pem);
  return plugin;
}

Result<PluginCredential> decode_plugin_credential(const CredentialPlugin& plugin, std::string_view printed) {
  const auto document = parse_json(printed, kPrintedBytesMax, kDepthMax);
  if (!document) return wrong_answer(plugin, "no JSON (" + document.error().message() + ")");
  if (text_in(*document, "kind") != kKind || text_in(*document, "apiVersion") != plugin.api_version)
    return wrong_answer(plugin, "'" + cut_text(text_in(*document, "kind"), 100) + "' of '" +
                                    cut_text(text_in(*document, "apiVersion"), 100) + "' instead of " +
                                    kKind + " of " + plugin.api_version);
  const json& status = child(*document, "status");
  PluginCredential credential{.token = text_in(status, "token"),
                              .certificate_pem = text_in(status, "clientCertificateData"),
                              .private_key_pem = text_in(status, "clientKeyData"),
                              .ends = std::nullopt};
  if (credential.token.empty() && credential.certificate_pem.empty())
    return wrong_answer(plugin, "neither a token nor a client certificate");
  if (credential.certificate_pem.empty() != credential.private_key_pem.empty())
    return wrong_answer(plugin, "only one of client certificate and client key; both are needed");
  const bool has_line_end =
      std::ranges::any_of(credential.token, [](unsigned char c) { return c < 0x21 || c > 0x7e; });
  if (has_line_end) return wrong_answer(plugin, "a token with spaces or control characters in it");
  if (const std::string ends = text_in(status, "expirationTimestamp"); !ends.empty()) {
    credential.ends = parse_time(ends);
    if (!credential.ends)
      return wrong_answer(plugin, "the expirationTimestamp '" + cut_text(ends, 100) + "'");
  }
  return credential;
}

}  // namespace ratoon::kube
