#include "cli/cluster/access/explain_refusals.h"

#include <algorithm>

#include "base/core/split_join.h"
#include "cli/text/nearest_name.h"

namespace ratoon::cli {
namespace {

constexpr const char* kResource = "trainingjobs.ratoon.dev";
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

Error missing_permission_error(const ClusterQuery& query, const std::string& verb, const Error& error) {
  return {ErrorKind::kPermissionDenied, "this user may not " + verb + " " + kResource + " in " +
                                            query_text(query) + ": bind the user to a role with the verbs " +
                                            (verb == "patch" ? "'list' and 'patch'" : "'list' and 'watch'") +
                                            " on that resource (" + error.message() + ")"};
}

Error expired_certificate_error(const ClusterQuery& query) {
  return {ErrorKind::kPermissionDenied,
          "the kubeconfig's client certificate expired at " + format_rfc3339(*query.certificate_end) +
              ", so " + query.server + " does not accept it: ask for a new one, or name another --context"};
}

}  // namespace

std::string query_text(const ClusterQuery& query) {
  const std::string where =
      query.name_space.empty() ? "all namespaces" : "namespace '" + query.name_space + "'";
  return where + " at " + query.server;
}

Error explain_failure(const ClusterQuery& query, const std::string& verb, const Error& error,
                      const std::optional<kube::ApiFailure>& refusal, WallTime now) {
  const bool is_expired = query.certificate_end && *query.certificate_end <= now;
  const int status = refusal ? refusal->status : 0;
  if (status == kForbidden) return missing_permission_error(query, verb, error);
  // Status 404 means that the API server does not know the kind TrainingJob. A server that knows this kind,
  // but has no object of it, returns an empty list.
  if (status == kNotFound)
    return {ErrorKind::kInvalid, query.server +
                                     " does not know TrainingJobs: install Ratoon's chart there, or the "
                                     "definition alone with `kubectl apply --server-side -f "
                                     "crds/trainingjob.yaml`"};
  if (is_expired && (status == kUnauthorized || error.kind() == ErrorKind::kPermissionDenied))
    return expired_certificate_error(query);
  if (status == kUnauthorized)
    return {ErrorKind::kPermissionDenied,
            query.server + " does not know this user: log in again, or name another --context (" +
                error.message() + ")"};
  if (status != 0)
    return error.with_context((verb == "patch" ? "changing " : "listing ") + std::string(kResource) + " in " +
                              query_text(query));
  if (error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout)
    return {error.kind(),
            "the API server " + query.server + " cannot be reached: " + error.message() +
                "; check that it runs and that this is the right context (kubectl config get-contexts)"};
  return error.with_context("asking " + query.server);
}

Error explain_watch_failure(const ClusterQuery& query, const Error& error) {
  return missing_permission_error(query, "watch", error);
}

Error explain_missing_job(const ClusterQuery& query, const std::string& job,
                          const std::vector<std::string>& names) {
  constexpr std::size_t kNamedMax = 5;
  const std::string meant = nearest_name(job, names);
  std::string sentence = "there is no TrainingJob '" + job + "' in " + query_text(query);
  if (!meant.empty()) {
    sentence += "; did you mean " + meant + "?";
  } else if (names.empty()) {
    sentence += ", nor any other TrainingJob";
  } else {
    const std::vector<std::string> first(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamedMax)));
    sentence += "; there are " + join(first, ", ") + (names.size() > kNamedMax ? ", ..." : "");
  }
  return {ErrorKind::kNotFound, sentence};
}

}  // namespace ratoon::cli
