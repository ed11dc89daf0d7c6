// CredentialPlugin: the program that a kubeconfig names to fetch credentials, as those of managed clouds do
// (client-go's exec plugins, client.authentication.k8s.io). What is written to it and what its answer means;
// it runs elsewhere.
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
  std::string command;  // with a '/' in it, relative to the kubeconfig's folder
  std::vector<std::string> arguments;
  std::map<std::string, std::string> variables;  // added to the environment, with the request among them
  std::string install_hint;
};

struct PluginCredential {
  std::string token;            // empty: the certificate alone
  std::string certificate_pem;  // empty: the token alone
  std::string private_key_pem;
  std::optional<WallTime> ends;  // nothing: when the server refuses it
};

// `exec` is that field of the kubeconfig's user, `cluster` the cluster that it is for, `ca_pem` that one's
// authority.
[[nodiscard]] Result<CredentialPlugin> decode_credential_plugin(const nlohmann::json& exec,
                                                                const nlohmann::json& cluster,
                                                                std::string_view ca_pem);

// What the plugin printed.
[[nodiscard]] Result<PluginCredential> decode_plugin_credential(const CredentialPlugin& plugin,
                                                                std::string_view printed);

}  // namespace ratoon::kube
