// Explains to a user why a call to a cluster's API server about its jobs failed. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/api_failure.h"

namespace ratoon::cli {

// The API server and the namespace to which a call went.
struct ClusterQuery {
  std::string server;
  std::string name_space;                     // empty: all
  std::optional<WallTime> certificate_end{};  // of the client certificate that we sent
};

// Returns text for people, such as `namespace 'prod' at https://10.0.0.1:6443`.
[[nodiscard]] std::string query_text(const ClusterQuery& query);

// Explains why a call failed. `verb` is list or patch; `refusal` is the server's reply, if there was a reply.
[[nodiscard]] Error explain_failure(const ClusterQuery& query, const std::string& verb, const Error& error,
                                    const std::optional<kube::ApiFailure>& refusal, WallTime now);
// Explains why the server refuses a watch.
[[nodiscard]] Error explain_watch_failure(const ClusterQuery& query, const Error& error);
// Explains that no job has this name. `names` are the jobs that exist.
[[nodiscard]] Error explain_missing_job(const ClusterQuery& query, const std::string& job,
                                        const std::vector<std::string>& names);

}  // namespace ratoon::cli
