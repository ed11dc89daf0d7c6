// Reviews of tokens by the API server: finds the pod of a token. Only tokens for our audience count.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

namespace ratoon::kube {

// The pod for which a token was made.
struct TokenIdentity {
  std::string name_space;
  std::string service_account;
  std::string pod_name;
  std::string pod_uid;

  friend bool operator==(const TokenIdentity&, const TokenIdentity&) = default;
};

[[nodiscard]] nlohmann::json make_token_review(std::string_view token);

// kPermissionDenied for a token that is invalid, not for our audience, or not bound to a pod.
[[nodiscard]] Result<TokenIdentity> read_token_review(const nlohmann::json& reply);

}  // namespace ratoon::kube
