#include "cli/cluster/suspend_job.h"

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/access/job_client.h"
#include "cli/command.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

Result<std::string> set_suspended_in_cluster(const ClusterSelection& selection, const std::string& name,
                                             bool is_suspended) {
  const auto client = JobClient::connect(selection);
  if (!client) return client.error();
  const auto found = (*client)->find(name);
  if (!found) return found.error();
  const json& job = found->front();
  const std::string shown = "TrainingJob '" + name + "' in " + query_text((*client)->query());
  if (is_over(job))
    return Error(ErrorKind::kInvalid, shown + " is over (" +
                                          kube::string_field(kube::child(job, "status"), "phase") +
                                          "): it has no pods to " + (is_suspended ? "suspend" : "resume"));
  if (kube::bool_field(kube::child(job, "spec"), "suspend") == is_suspended)
    return Error(ErrorKind::kInvalid, shown + (is_suspended ? " is suspended already" : " is not suspended"));
  if (auto changed = (*client)->set_suspended(name, is_suspended); !changed) return changed.error();
  return shown + (is_suspended ? " is suspended: its members save, and then their pods end"
                               : " is resumed: its members continue from the last save");
}

}  // namespace

int suspend_job(const ClusterSelection& selection, const std::string& name, bool is_suspended) {
  if (name.empty())
    return print_error_and_exit_code(
        Error(ErrorKind::kInvalid, std::string("name the TrainingJob: ratoon ") +
                                       (is_suspended ? "suspend" : "resume") +
                                       " NAME --cluster; `ratoon status --cluster` lists the names"));
  const auto changed = set_suspended_in_cluster(selection, name, is_suspended);
  if (!changed) return print_error_and_exit_code(changed.error());
  print_text(printable(*changed) + "\n");
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace ratoon::cli
