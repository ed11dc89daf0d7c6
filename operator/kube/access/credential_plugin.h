// CredentialPlugin: a program that fetches credentials; the kubeconfigs of managed clouds name such a program
// (client-go's exec plugins, client.authentication.k8s.io). This file encodes the request to the plugin and
// decodes its answer; other code runs the plugin.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::kube {

struct CredentialPlugin {
  std::string api_version;
  std::string command;  // a path with '/' is relative to the kubeconfig's folder
  std::vector<std::string> arguments;
  std::map<std::string, std::string> variables;  // added to the environment; includes the request
  std::string install_hint;
};

struct PluginCredential {
  std::string token;            // empty: only a certificate
  std::string certificate_pem;  // empty: only a token
  std::string private_key_pem;
  std::optional<WallTime> expires_at;  // nothing: valid until the server refuses it
};

// `exec`: the field users[].user.exec of the kubeconfig. `cluster`: the kubeconfig's entry for the cluster.
// `ca_pem`: the cluster's CA as PEM text.
[[nodiscard]] Result<CredentialPlugin> decode_credential_plugin(const nlohmann::json& exec,
                                                                const nlohmann::json& cluster,
                                                                std::string_view ca_pem);

// Decodes the credential that the plugin printed.
[[nodiscard]] Result<PluginCredential> decode_plugin_credential(const CredentialPlugin& plugin,
                                                                std::string_view printed);

}  // namespace ratoon::kube
