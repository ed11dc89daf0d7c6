// Cluster: the interface of the operator's loop to Kubernetes. Reads use a copy that reflectors keep; writes
// go to the API server and into the copy, so that the next read shows them.
//
//   auto cluster = Cluster::connect(access, clock, {.on_news = ..., .settings = {.coordinator_url = url}});
//   auto view = (*cluster)->view(key);
//   (*cluster)->write_status(job);
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/core/decision.h"
#include "operator/kube/access/api_server_access.h"
#include "operator/kube/pods/member_pod.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/jobs/job_cache.h"

namespace ratoon::runtime {

using kube::PodSettings;

struct ClusterOptions {
  std::string name_space;  // the namespace that is served; empty: all
  // The function is called for each job that a change concerns, by a thread of the cluster. The function must
  // return quickly, and may be called before connect() returns.
  JobCache::OnChange on_news;
  PodSettings settings;
  std::string reporter;          // name of this program's instance, for events
  ApiClient::OnCall on_call;     // absent: calls are not counted
  const Fence* fence = nullptr;  // must outlive the cluster; closed: no writes. Null: never closed
  std::optional<Logger> log;     // absent: standard error
  std::uint64_t seed = 0;        // spreads the pauses of several operators; any number
  std::unique_ptr<http::HttpTransport> transport{};  // absent: one of its own
};

// kNameIsHeld: a pod of another job has the name, or a pod that does not belong to this job and still exists
// long after its grace period.
enum class CreateOutcome { kMade, kNameIsHeld };

class Cluster {
 public:
  // Starts to copy objects, and does not wait for the copy. The clock must outlive the cluster.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> connect(kube::ApiServerAccess access,
                                                                const Clock& clock, ClusterOptions options);
  // Connects without threads: calls of step() copy objects and write events.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> attach(kube::ApiServerAccess access,
                                                               const Clock& clock, ClusterOptions options);
  // Ends all threads and calls.
  ~Cluster();
  // For a shutdown: calls that wait for an answer return without one, and so do later calls.
  void end_calls();

  // Runs one list or one watch of each kind that is due, then writes the waiting events.
  void step(const std::stop_token& stop);

  // There is no value if the job does not exist, is being deleted or cannot be read (unreadable_jobs() has
  // the reason).
  [[nodiscard]] std::optional<JobView> view(const JobKey& key) const;
  [[nodiscard]] std::vector<JobKey> jobs() const;
  [[nodiscard]] std::vector<UnreadableJob> unreadable_jobs() const;
  [[nodiscard]] bool is_synced() const;  // every list has been complete once
  // Lists everything again; is_synced() is false until that is done.
  void list_again();
  [[nodiscard]] bool is_fresh() const;  // is_synced(), and no copy has been behind for over 15 seconds
  // For how long the copy of each kind may have lacked changes; 0 while the copy is up to date.
  [[nodiscard]] std::map<std::string_view, double> seconds_behind() const;

  // The claim that the job names, read from the server itself; nothing if the claim does not exist.
  [[nodiscard]] Result<std::optional<core::VolumeClaim>> read_claim(const api::TrainingJob& job);
  // Writes the complaint to a condition, and changes nothing else. Sends nothing if the condition exists
  // already.
  [[nodiscard]] Result<void> write_complaint(const UnreadableJob& job);
  // Returns the job's status as the server would store it: without fields that its definition does not
  // contain.
  [[nodiscard]] api::TrainingJobStatus as_stored(const api::TrainingJob& job) const;
  // kConflict: the job was written after `job` was read; read and decide again. Sends nothing if the status
  // has not changed.
  [[nodiscard]] Result<void> write_status(const api::TrainingJob& job);
  // Succeeds if the pod already exists and belongs to this job. kInvalid: the template is refused; kNoSpace:
  // a quota is used up.
  [[nodiscard]] Result<CreateOutcome> create_pod(const api::TrainingJob& job, const core::CreatePod& action);
  // Deletes the pod only in the version of the view `seen`. Succeeds if the pod no longer exists, or another
  // pod has its name. kConflict: the pod has changed since; the next view has the new version.
  [[nodiscard]] Result<void> delete_pod(const JobView& seen, const core::DeletePod& action);
  // Succeeds if the job no longer exists. kConflict: it was written after it was read, or another job has its
  // name; read and decide again. The pods of the job are deleted after the job.
  [[nodiscard]] Result<void> delete_job(const api::TrainingJob& job, const core::DeleteJob& action);
  // Returns at once. Uses only the metadata of the job.
  void emit_event(const api::TrainingJob& job, const core::EmitEvent& action);

  // Pods that are created after this call trust this CA for the coordinator's certificate.
  void trust(std::string coordinator_ca);

 private:
  struct Parts;
  struct PrivateTag {};

 public:
  Cluster(PrivateTag, std::unique_ptr<Parts> parts);  // called by connect() and attach()

 private:
  [[nodiscard]] Result<void> look_again(const api::TrainingJob& job, const core::DeletePod& action);
  [[nodiscard]] Result<CreateOutcome> adopt_pod(const api::TrainingJob& job, const std::string& name);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ratoon::runtime
