// Lets the API server review a token, to find the token's pod. Accepts only tokens that were issued for the
// operator's own audience.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

namespace ratoon::kube {

// Names the pod for which a service account token was issued.
struct TokenIdentity {
  std::string name_space;
  std::string service_account;
  std::string pod_name;
  std::string pod_uid;

  friend bool operator==(const TokenIdentity&, const TokenIdentity&) = default;
};

[[nodiscard]] nlohmann::json make_token_review(std::string_view token);

// Returns kPermissionDenied if the token is invalid, is for another audience, or is bound to no pod.
[[nodiscard]] Result<TokenIdentity> read_token_review(const nlohmann::json& reply);

}  // namespace ratoon::kube
