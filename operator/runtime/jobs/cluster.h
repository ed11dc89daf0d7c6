// Cluster: the interface of the reconcile loop to Kubernetes. Reads use a local copy of the objects, which
// reflectors keep; writes go to the API server and into the copy, so that the next read shows them.
//
//   auto cluster = Cluster::connect(access, clock, {.on_change = ..., .settings = {.coordinator_url = url}});
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
  // A thread of the Cluster object calls this function for each job that a change concerns, perhaps before
  // connect() returns. on_change must return quickly.
  JobCache::OnChange on_change;
  api::NodeFactKeys node_facts{};  // the facts of nodes that decisions read
  PodSettings settings;
  std::string reporter;          // name of this program's instance, for events
  ApiClient::OnCall on_call;     // absent: calls are not counted
  const Fence* fence = nullptr;  // must outlive the cluster; closed: no writes. Null: never closed
  std::optional<Logger> log;     // absent: standard error
  std::uint64_t seed = 0;        // spreads the pauses of several operators; any number
  std::unique_ptr<http::HttpTransport> transport{};  // absent: one of its own
};

// kNameIsHeld: the name belongs to a pod of another job or of a deleted job, or to a pod that belongs to no
// job and still exists long after its grace period.
enum class CreateOutcome { kMade, kNameIsHeld };

class Cluster {
 public:
  // Starts to copy objects and returns before the copy is complete. The clock must outlive the cluster.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> connect(kube::ApiServerAccess access,
                                                                const Clock& clock, ClusterOptions options);
  // Does the same as connect(), but without threads: the caller calls step(), which copies objects and writes
  // events.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> connect_without_threads(kube::ApiServerAccess access,
                                                                                const Clock& clock,
                                                                                ClusterOptions options);
  // Ends all threads and calls.
  ~Cluster();
  // For a shutdown: ends calls to the API server that wait for an answer. All later calls fail at once.
  void end_calls();

  // Makes one list call or watch call for each kind of objects whose next call is due, and then writes the
  // waiting events.
  void step(const std::stop_token& stop);

  // Returns the job with its pods and nodes, or nothing if the job does not exist, is being deleted or cannot
  // be read (unreadable_jobs() has the reason).
  [[nodiscard]] std::optional<JobView> view(const JobKey& key) const;
  [[nodiscard]] std::vector<JobKey> jobs() const;
  [[nodiscard]] std::vector<UnreadableJob> unreadable_jobs() const;
  [[nodiscard]] ProcessesInUse processes_in_use(const std::string& name_space) const;  // see JobCache
  [[nodiscard]] bool is_synced() const;  // every list has been complete once
  // Lists all objects again; is_synced() returns false until all lists are complete.
  void relist();
  [[nodiscard]] bool is_fresh() const;  // is_synced(), and no copy has been behind for over 15 seconds
  // Returns, for each kind of objects, for how long the copy may have lacked changes; 0 if it is up to date.
  [[nodiscard]] std::map<std::string_view, double> seconds_behind() const;

  // Returns the time until which the API server asked not to be called for the job, or nothing. Until the
  // returned time, each call below for this job fails at once with kUnavailable.
  [[nodiscard]] std::optional<Timestamp> retry_after_end(const JobKey& job) const;

  // Reads the job's volume claim from the API server itself; returns nothing if it does not exist.
  [[nodiscard]] Result<std::optional<core::VolumeClaim>> read_volume_claim(const api::TrainingJob& job);
  // Writes the complaint into a condition of the job, and changes nothing else. Sends nothing if the job
  // already has the condition with the same complaint.
  [[nodiscard]] Result<void> write_invalid_condition(const UnreadableJob& job);
  // Returns the job's status as the API server would store it: without fields that are missing in the
  // server's CustomResourceDefinition.
  [[nodiscard]] api::TrainingJobStatus status_as_stored(const api::TrainingJob& job) const;
  // Writes the job's status; sends nothing if the status has not changed. Returns kConflict if the job was
  // written after `job` was read: then read the job again and repeat the decision.
  [[nodiscard]] Result<void> write_status(const api::TrainingJob& job);
  // Creates the pod; also succeeds if the pod exists already and belongs to this job. Returns kInvalid if the
  // server refuses the template, and kNoSpace if a quota is used up.
  [[nodiscard]] Result<CreateOutcome> create_pod(const api::TrainingJob& job, const core::CreatePod& action);
  // Deletes the pod only if it still has the version in `seen`. Also succeeds if the pod no longer exists or
  // another pod has its name. Returns kConflict if the pod has changed; the next JobView has the change.
  [[nodiscard]] Result<void> delete_pod(const JobView& seen, const core::DeletePod& action);
  // Deletes the job; Kubernetes deletes its pods afterwards. Also succeeds if the job is gone. Returns
  // kConflict if another writer changed the job, or another job has its name: then read and decide again.
  [[nodiscard]] Result<void> delete_job(const api::TrainingJob& job, const core::DeleteJob& action);
  // Puts the event into a queue and returns at once. Uses only the metadata of `job`.
  void emit_event(const api::TrainingJob& job, const core::EmitEvent& action);

  // Makes all pods that are created later trust this CA for the coordinator's certificate.
  void trust_coordinator_ca(std::string coordinator_ca);

 private:
  struct Parts;
  struct PrivateTag {};

 public:
  Cluster(PrivateTag, std::unique_ptr<Parts> parts);  // called by connect() and connect_without_threads()

 private:
  [[nodiscard]] Result<void> reread_pod(const api::TrainingJob& job, const core::DeletePod& action);
  [[nodiscard]] Result<void> delete_pod_of_former_job(const api::TrainingJob& job, const nlohmann::json& pod);
  [[nodiscard]] Result<CreateOutcome> adopt_pod(const api::TrainingJob& job, const std::string& name);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ratoon::runtime
