// Cluster: Kubernetes as the operator's loop sees it. Reads come from a copy that reflectors keep; writes go
// to the API server and into the copy, so that the next view shows them.
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
#include "operator/kube/access.h"
#include "operator/kube/member_pod.h"
#include "operator/runtime/api_client.h"
#include "operator/runtime/store.h"

namespace ratoon::runtime {

using kube::PodSettings;

struct ClusterOptions {
  std::string name_space;  // whose jobs are served; empty: of all namespaces
  // Called for each job that a change touches, by a thread of the cluster: hand it on and return. It may be
  // called before connect() returns.
  Store::OnNews on_news;
  PodSettings settings;
  std::string reporter;       // this program's instance, for events
  ApiClient::OnCall on_call;  // absent: calls are not counted
  const Fence* fence =
      nullptr;                // outlives the cluster; closed: nothing is written. Absent: it is never closed
  std::optional<Logger> log;  // absent: to standard error
  std::uint64_t seed = 0;     // spreads pauses of several operators; any number
  std::unique_ptr<http::HttpTransport> transport{};  // absent: one of its own
};

// kNameIsHeld: by a pod of a job of another name, or by one that is not this job's and hangs on its way out,
// past all grace.
enum class Creation { kMade, kNameIsHeld };

class Cluster {
 public:
  // Starts to copy; does not wait for it. The clock outlives the cluster.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> connect(kube::Access access, const Clock& clock,
                                                                ClusterOptions options);
  // The same without a thread: it copies, and writes events, in the calls of step().
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> attach(kube::Access access, const Clock& clock,
                                                               ClusterOptions options);
  // Ends all threads and calls.
  ~Cluster();
  // Of threads that are to end: calls that wait for an answer return without one, and later ones do at once.
  void end_calls();

  // One list or one watch of each kind that is due by the clock, then the events that wait.
  void step(const std::stop_token& stop);

  // Nothing where the job is gone, is being deleted or cannot be read (broken_jobs() says why).
  [[nodiscard]] std::optional<View> view(const JobKey& key) const;
  [[nodiscard]] std::vector<JobKey> jobs() const;
  [[nodiscard]] std::vector<BrokenJob> broken_jobs() const;
  [[nodiscard]] bool is_synced() const;  // every list was complete once
  // Lists everything anew; not synced until that is done.
  void list_again();
  [[nodiscard]] bool is_fresh() const;  // and no copy has been behind for longer than 15 seconds
  // For how long each kind's copy may have lacked what happened; 0 where it is kept up.
  [[nodiscard]] std::map<std::string_view, double> seconds_behind() const;

  // The claim that the job names, read from the server itself; nothing where there is none.
  [[nodiscard]] Result<std::optional<core::Claim>> read_claim(const api::TrainingJob& job);
  // Tells the complaint in a condition, and touches nothing else. Nothing is sent where it is told already.
  [[nodiscard]] Result<void> write_complaint(const BrokenJob& job);
  // The job's status as the server would keep it: without what its definition does not know.
  [[nodiscard]] api::TrainingJobStatus as_stored(const api::TrainingJob& job) const;
  // kConflict: someone wrote since `job` was read; look again. Nothing is sent where nothing changed.
  [[nodiscard]] Result<void> write_status(const api::TrainingJob& job);
  // Fine if it exists and is this job's. kInvalid: the template is refused; kNoSpace: a quota is used up.
  [[nodiscard]] Result<Creation> create_pod(const api::TrainingJob& job, const core::CreatePod& action);
  // Only as the view that led to it showed the pod. Fine if it is gone, or another one has its name.
  // kConflict: it is not any more as it was seen; as it is now, it is in the next view.
  [[nodiscard]] Result<void> delete_pod(const View& seen, const core::DeletePod& action);
  // Fine if it is gone. kConflict: somebody wrote since it was read, or another one has its name; look again.
  // Its pods go after it.
  [[nodiscard]] Result<void> delete_job(const api::TrainingJob& job, const core::DeleteJob& action);
  // Returns at once; of the job, only meta is looked at.
  void emit_event(const api::TrainingJob& job, const core::EmitEvent& action);

  // Pods that are made from now on trust these authorities of the coordinator's certificate.
  void trust(std::string coordinator_ca);

 private:
  struct Parts;
  struct PrivateTag {};

 public:
  Cluster(PrivateTag, std::unique_ptr<Parts> parts);  // through connect()

 private:
  [[nodiscard]] Result<void> look_again(const api::TrainingJob& job, const core::DeletePod& action);
  [[nodiscard]] Result<Creation> adopt_pod(const api::TrainingJob& job, const std::string& name);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ratoon::runtime
