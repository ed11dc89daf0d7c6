#include "operator/kube/access/api_server_access.h"

#include <optional>

#include "base/core/utf8.h"
#include "operator/kube/access/base64.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

// Returns the entry of a kubeconfig's list by its name: {name: N, cluster: {...}}.
Result<json> find_named_entry(const json& document, const char* list, const char* kind,
                              const std::string& name) {
  for (const auto& entry : items_of(document, list)) {
    if (string_field(entry, "name") == name && child(entry, kind).is_object()) return child(entry, kind);
  }
  return Error(ErrorKind::kInvalid, "the kubeconfig names the " + std::string(kind) + " '" + name +
                                        "', but its list '" + list + "' has no entry with that name");
}

// Reads PEM text. Inline base64 data takes precedence over a file's path, as in kubectl.
Result<std::string> read_pem(const json& entry, const char* data, const char* file,
                             const ReadKubeconfigFile& read_file) {
  if (const std::string inline_data = string_field(entry, data); !inline_data.empty()) {
    auto bytes = decode_base64(inline_data);
    if (!bytes) return bytes.error().with_context(data);
    return bytes;
  }
  const std::string path = string_field(entry, file);
  if (path.empty()) return std::string();
  return read_file(path);
}

std::optional<Error> find_unsupported_field(const json& cluster, const json& user) {
  const auto refuse = [](const char* field, const char* instead) {
    return Error(ErrorKind::kInvalid, "the kubeconfig uses '" + std::string(field) +
                                          "', which Ratoon does not support: " + instead);
  };
  if (!child(user, "auth-provider").is_null())
    return refuse("auth-provider",
                  "let the cluster's tool write the kubeconfig again, with an 'exec' plugin");
  for (const char* field : {"username", "password"}) {
    // Compare JSON values, not texts, because YAML reads a password of digits as a number.
    const json value = child(user, field);
    if (!value.is_null() && value != "") return refuse(field, "API servers no longer accept passwords");
  }
  if (!string_field(user, "as").empty()) return refuse("as", "give that user's credentials directly");
  if (bool_field(cluster, "insecure-skip-tls-verify"))
    return refuse("insecure-skip-tls-verify", "give the server's authority in certificate-authority-data");
  if (string_field(cluster, "proxy-url").starts_with("https:"))
    return refuse("proxy-url with https", "give a proxy with http:// or socks5://");
  return std::nullopt;
}

std::optional<Error> read_credentials(const json& cluster, const json& user,
                                      const ReadKubeconfigFile& read_file, ApiServerAccess& access) {
  auto ca = read_pem(cluster, "certificate-authority-data", "certificate-authority", read_file);
  if (!ca) return ca.error();
  auto certificate = read_pem(user, "client-certificate-data", "client-certificate", read_file);
  if (!certificate) return certificate.error();
  auto key = read_pem(user, "client-key-data", "client-key", read_file);
  if (!key) return key.error();
  if (certificate->empty() != key->empty())
    return Error(ErrorKind::kInvalid,
                 "the kubeconfig has only one of client certificate and client key; both are needed");
  access.ca_pem = std::move(*ca);
  if (string_field(cluster, "certificate-authority-data").empty())
    access.ca_file = string_field(cluster, "certificate-authority");
  access.certificate_pem = std::move(*certificate);
  access.private_key_pem = std::move(*key);
  access.token = string_field(user, "token");
  access.token_file = string_field(user, "tokenFile");
  if (child(user, "exec").is_null()) return std::nullopt;
  auto plugin = decode_credential_plugin(child(user, "exec"), cluster, access.ca_pem);
  if (!plugin) return plugin.error();
  access.plugin = *std::move(plugin);
  return std::nullopt;
}

std::string without_end_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

std::string trim_trailing_space(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<ApiServerAccess> decode_kubeconfig(const json& document, const std::string& context_name,
                                          const ReadKubeconfigFile& read_file) {
  const std::string name = context_name.empty() ? string_field(document, "current-context") : context_name;
  if (name.empty())
    return Error(ErrorKind::kInvalid, "the kubeconfig has no current-context: set one, or pass --context");
  const auto context = find_named_entry(document, "contexts", "context", name);
  if (!context) return context.error();
  const auto cluster = find_named_entry(document, "clusters", "cluster", string_field(*context, "cluster"));
  if (!cluster) return cluster.error();
  const auto user = find_named_entry(document, "users", "user", string_field(*context, "user"));
  if (!user) return user.error();
  if (auto refusal = find_unsupported_field(*cluster, *user)) return *refusal;

  ApiServerAccess access;
  access.server = without_end_slash(string_field(*cluster, "server"));
  if (!access.server.starts_with("https://") && !access.server.starts_with("http://"))
    return Error(ErrorKind::kInvalid, "the kubeconfig's server must be an http or https address, found '" +
                                          cut_text(access.server, 100) + "'");
  access.server_name = string_field(*cluster, "tls-server-name");
  access.proxy = string_field(*cluster, "proxy-url");
  access.name_space = string_field(*context, "namespace");
  if (access.name_space.empty()) access.name_space = "default";
  if (auto complaint = read_credentials(*cluster, *user, read_file, access))
    return complaint->with_context("kubeconfig context '" + name + "'");
  return access;
}

Result<ApiServerAccess> in_cluster_access(const std::string& host, const std::string& port,
                                          const ReadKubeconfigFile& read_file) {
  if (host.empty() || port.empty())
    return Error(ErrorKind::kNotFound,
                 "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this process is not in a "
                 "pod; give a kubeconfig");
  const std::string folder(kServiceAccountFolder);
  ApiServerAccess access;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  access.server = "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
  auto ca = read_file(folder + "/ca.crt");
  if (!ca) return ca.error().with_context("the service account of this pod");
  access.ca_pem = std::move(*ca);
  access.ca_file = folder + "/ca.crt";
  access.token_file = folder + "/token";
  const auto name_space = read_file(folder + "/namespace");
  access.name_space = trim_trailing_space(name_space.value_or(""));
  if (access.name_space.empty()) access.name_space = "default";
  return access;
}

}  // namespace ratoon::kube
