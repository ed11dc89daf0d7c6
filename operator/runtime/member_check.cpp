#include "operator/runtime/member_check.h"

namespace ratoon::runtime {

Result<void> check_member(Cluster& cluster, std::string_view token, const ProcessIdentity& process) {
  if (token.empty()) return Error(ErrorKind::kPermissionDenied, "the call carries no token");
  const auto bearer = cluster.review_token(token);
  if (!bearer) return bearer.error();
  const bool is_same_pod =
      bearer->name_space == process.job.name_space && bearer->pod_uid == process.member_uid &&
      bearer->pod_name == member_name(process.job, process.role, process.index, process.incarnation);
  if (is_same_pod) return {};
  return Error(ErrorKind::kPermissionDenied, "the token was made for pod " + bearer->name_space + "/" +
                                                 bearer->pod_name + ", which is not the member that speaks");
}

}  // namespace ratoon::runtime
