#include "cli/cluster/refusals.h"

#include <algorithm>

#include "base/core/lists.h"
#include "cli/nearest.h"

namespace ratoon::cli {
namespace {

constexpr const char* kResource = "trainingjobs.ratoon.dev";
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

Error refuse_verb(const Asked& asked, const std::string& verb, const Error& error) {
  return {ErrorKind::kPermissionDenied, "this user may not " + verb + " " + kResource + " in " +
                                            place_text(asked) +
                                            ": it takes a role with the verbs 'list' and " +
                                            "'watch' on that resource (" + error.message() + ")"};
}

Error expired(const Asked& asked) {
  return {ErrorKind::kPermissionDenied,
          "the kubeconfig's client certificate ended at " + format_rfc3339(*asked.certificate_end) + ", so " +
              asked.server + " does not take it: ask for a new one, or name another --context"};
}

}  // namespace

std::string place_text(const Asked& asked) {
  const std::string where =
      asked.name_space.empty() ? "all namespaces" : "namespace '" + asked.name_space + "'";
  return where + " at " + asked.server;
}

Error explain_list(const Asked& asked, const Error& error, const std::optional<kube::Failure>& refusal,
                   WallTime now) {
  const bool is_expired = asked.certificate_end && *asked.certificate_end <= now;
  const int status = refusal ? refusal->status : 0;
  if (status == kForbidden) return refuse_verb(asked, "list", error);
  // A list of nothing is no 404: that is for a kind which the server does not know.
  if (status == kNotFound)
    return {ErrorKind::kInvalid, asked.server +
                                     " does not know TrainingJobs: install Ratoon's chart there, or the "
                                     "definition alone with `kubectl apply --server-side -f "
                                     "crds/trainingjob.yaml`"};
  if (is_expired && (status == kUnauthorized || error.kind() == ErrorKind::kPermissionDenied))
    return expired(asked);
  if (status == kUnauthorized)
    return {ErrorKind::kPermissionDenied,
            asked.server + " does not know this user: log in anew, or name another --context (" +
                error.message() + ")"};
  if (status != 0)
    return error.with_context("listing " + std::string(kResource) + " in " + place_text(asked));
  if (error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout)
    return {error.kind(),
            "the API server " + asked.server + " cannot be reached: " + error.message() +
                "; see whether it is up and this the right context (kubectl config get-contexts)"};
  return error.with_context("asking " + asked.server);
}

Error explain_watch(const Asked& asked, const Error& error) {
  return refuse_verb(asked, "watch", error);
}

Error explain_missing(const Asked& asked, const std::string& job, const std::vector<std::string>& names) {
  constexpr std::size_t kNamedMax = 5;
  const std::string meant = nearest(job, names);
  std::string sentence = "there is no TrainingJob '" + job + "' in " + place_text(asked);
  if (!meant.empty()) {
    sentence += "; did you mean " + meant + "?";
  } else if (names.empty()) {
    sentence += ", nor any other";
  } else {
    const std::vector<std::string> first(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamedMax)));
    sentence += "; there are " + join(first, ", ") + (names.size() > kNamedMax ? ", ..." : "");
  }
  return {ErrorKind::kNotFound, sentence};
}

}  // namespace ratoon::cli
