// JobClient: reads TrainingJobs from a cluster's API server, and changes them. JobClient's errors tell the
// user what to do next.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "cli/cluster/access/cluster_selection.h"
#include "cli/cluster/access/explain_refusals.h"
#include "operator/kube/request.h"
#include "operator/runtime/api_server/api_client.h"

namespace ratoon::cli {

// Returns whether the job has succeeded or failed.
[[nodiscard]] bool is_over(const nlohmann::json& job);

class JobClient {
 public:
  JobClient(kube::ApiServerAccess access, const ClusterSelection& selection);
  [[nodiscard]] static Result<std::unique_ptr<JobClient>> connect(const ClusterSelection& selection);

  // Returns the jobs with this name: several, if all namespaces are searched. An empty name means a job of
  // any name.
  [[nodiscard]] Result<std::vector<nlohmann::json>> list(const std::string& name) const;
  // Does the same as list(), but if no job has this name, returns an error that lists the existing jobs.
  [[nodiscard]] Result<std::vector<nlohmann::json>> find(const std::string& name) const;
  [[nodiscard]] Result<void> set_suspended(const std::string& name, bool is_suspended) const;

  [[nodiscard]] kube::Selection selection(const std::string& name) const;
  [[nodiscard]] const ClusterQuery& query() const { return query_; }
  [[nodiscard]] const runtime::ApiClient& api() const { return api_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

 private:
  const SystemClock clock_;
  const ClusterQuery query_;
  const runtime::ApiClient api_;
};

}  // namespace ratoon::cli
