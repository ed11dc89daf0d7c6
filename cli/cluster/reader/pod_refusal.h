// Explains to a user why the API server refuses a call about a reader pod. Pure.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>

#include "cli/cluster/access/explain_refusals.h"
#include "operator/kube/api_failure.h"

namespace ratoon::cli {

// `verb` and `resource` are written as in roles of Kubernetes, such as create and pods. `refusal` is the
// server's reply, if there was a reply.
[[nodiscard]] Error explain_pod_refusal(const ClusterQuery& query, const std::string& verb,
                                        const std::string& resource, const Error& error,
                                        const std::optional<kube::ApiFailure>& refusal);

}  // namespace ratoon::cli
