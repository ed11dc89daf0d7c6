#include "operator/runtime/members/member_check.h"

namespace ratoon::runtime {

Result<void> match_member(const kube::TokenIdentity& bearer, const ProcessIdentity& process) {
  const std::string name = member_name(process.job, process.role, process.index, process.incarnation);
  const bool is_same_pod = bearer.name_space == process.job.name_space && bearer.pod_name == name &&
                           !bearer.pod_uid.empty() && bearer.pod_uid == process.member_uid;
  if (is_same_pod) return {};
  return Error(ErrorKind::kPermissionDenied, "the token was made for pod " + bearer.name_space + "/" +
                                                 bearer.pod_name + ", but pod " + process.job.name_space +
                                                 "/" + name + " sent it");
}

Result<void> check_member(TokenReviewer& tokens, std::string_view token, const ProcessIdentity& process) {
  if (token.empty()) return Error(ErrorKind::kPermissionDenied, "the call carries no token");
  const auto bearer = tokens.review(token, {});
  if (!bearer) return bearer.error();
  auto matched = match_member(*bearer, process);
  if (!matched) tokens.forget(token);
  return matched;
}

}  // namespace ratoon::runtime
