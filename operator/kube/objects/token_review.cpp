#include "operator/kube/objects/token_review.h"

#include <algorithm>

#include "base/contract/names.h"
#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

Error permission_error(const std::string& sentence) {
  return Error(ErrorKind::kPermissionDenied, sentence);
}

std::string first_extra_value(const json& user, const char* name) {
  const json& values = items_of(child(user, "extra"), name);
  return values.empty() || !values.front().is_string() ? std::string() : values.front().get<std::string>();
}

}  // namespace

json make_token_review(std::string_view token) {
  return {{"apiVersion", "authentication.k8s.io/v1"},
          {"kind", "TokenReview"},
          {"spec", {{"token", token}, {"audiences", json::array({names::kTokenAudience})}}}};
}

Result<TokenIdentity> read_token_review(const json& reply) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  const json& status = child(reply, "status");
  if (!bool_field(status, "authenticated")) {
    const std::string error = cut_text(string_field(status, "error"), 300);
    return permission_error("the API server does not accept the token" + (error.empty() ? "" : ": " + error));
  }
  // Refuse an answer without the operator's audience: a server that does not support audiences also accepts
  // tokens that are for another service.
  const json& audiences = items_of(status, "audiences");
  if (std::find(audiences.begin(), audiences.end(), json(names::kTokenAudience)) == audiences.end())
    return permission_error("the token is not for audience '" + std::string(names::kTokenAudience) + "'");
  const json& user = child(status, "user");
  const std::string name = string_field(user, "username");
  const std::size_t colon = name.find(':', kPrefix.size());
  if (!name.starts_with(kPrefix) || colon == std::string::npos)
    return permission_error("the token is of '" + cut_text(name, 100) + "', which is not a service account");
  TokenIdentity identity{.name_space = name.substr(kPrefix.size(), colon - kPrefix.size()),
                         .service_account = name.substr(colon + 1),
                         .pod_name = first_extra_value(user, "authentication.kubernetes.io/pod-name"),
                         .pod_uid = first_extra_value(user, "authentication.kubernetes.io/pod-uid")};
  if (identity.pod_name.empty() || identity.pod_uid.empty())
    return permission_error("the token of " + name +
                            " is bound to no pod: use the token that is mounted into the member");
  return identity;
}

}  // namespace ratoon::kube
