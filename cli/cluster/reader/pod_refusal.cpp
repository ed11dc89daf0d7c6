#include "cli/cluster/reader/pod_refusal.h"

namespace ratoon::cli {
namespace {

constexpr int kForbidden = 403;
constexpr int kUnprocessable = 422;

// Searches for words of the authorizer, because quotas, Pod Security and other plugins answer 403, too.
bool is_permission_error(const Error& error, const std::string& verb) {
  return error.message().find("cannot " + verb + " resource") != std::string::npos;
}

}  // namespace

Error explain_pod_refusal(const ClusterQuery& query, const std::string& verb, const std::string& resource,
                          const Error& error, const std::optional<kube::ApiFailure>& refusal) {
  const int status = refusal ? refusal->status : 0;
  if (status == kForbidden && is_permission_error(error, verb))
    return {
        ErrorKind::kPermissionDenied,
        "this user may not " + verb + " " + resource + " in " + query_text(query) +
            ", but a short-lived pod has to read the checkpoints: bind the user to a role with the verbs "
            "'create', 'get' and 'delete' on pods and 'get' on pods/log, such as the cluster role 'edit' (" +
            error.message() + ")"};
  if (status == kForbidden || status == kUnprocessable)
    return {ErrorKind::kInvalid, "the API server refuses the pod that would read the checkpoints in " +
                                     query_text(query) + ": " + error.message()};
  return error.with_context("the call '" + verb + "' for " + resource + " in " + query_text(query));
}

}  // namespace ratoon::cli
