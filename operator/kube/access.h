// Access: where the API server is and how we show who we are. Made of a kubeconfig, or of what a pod finds in
// its file system. Files are read by whoever calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/kube/credential_plugin.h"

namespace ratoon::kube {

struct Access {
  std::string server;           // https://host:port, without a slash at the end
  std::string ca_pem;           // empty: the system's authorities
  std::string ca_file;          // where that stands, if it may change there
  std::string certificate_pem;  // empty: no client certificate
  std::string private_key_pem;
  std::string server_name;  // expected in the server's certificate; empty: the server's host
  std::string token;
  std::string token_file;                    // wins over token and is read again, since what is in it expires
  std::optional<CredentialPlugin> plugin{};  // gives the token, the client certificate or both
  std::optional<WallTime> token_ends{};      // of a token of the plugin, if it said so
  std::string name_space;                    // in which a call without one acts
};

// Where a pod finds its service account.
inline constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

// `read_file` answers with a file's bytes; relative paths are relative to the kubeconfig's folder.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// `document` is the kubeconfig as JSON. An empty `context` stands for its current-context.
[[nodiscard]] Result<Access> decode_kubeconfig(const nlohmann::json& document, const std::string& context,
                                               const ReadFile& read_file);

// `host` and `port` are KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
[[nodiscard]] Result<Access> access_in_cluster(const std::string& host, const std::string& port,
                                               const ReadFile& read_file);

}  // namespace ratoon::kube
