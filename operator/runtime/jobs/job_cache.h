// operator/runtime/jobs/: keeps copies of jobs and pods, and writes to the API server. JobCache: a small,
// indexed copy of jobs, their pods and the nodes. For each change that matters, JobCache reports the jobs
// that the change concerns.
//
// The cache stores the operator's own writes at once. Changes from a watch may arrive later than the
// operator's newer writes. So an object with an older resource version never replaces a newer one.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contract/messages.h"
#include "base/core/threads/mutex.h"
#include "operator/api/node.h"
#include "operator/api/training_job.h"
#include "operator/kube/pods/pod_codec.h"
#include "operator/runtime/jobs/process_limit.h"
#include "operator/runtime/scheduling/urgency.h"

namespace ratoon::runtime {

// A job at one moment, with its pods, and the nodes where they run or which they avoid.
struct JobView {
  api::TrainingJob job;
  std::vector<api::Pod> pods;
  std::vector<api::Node> nodes;
  std::map<std::string, std::string> pod_versions{};  // resource versions by UID; not for pods that have none
};

[[nodiscard]] std::set<std::string> uids_of_pods(const JobView& view);

// A TrainingJob that cannot be read, and the reason.
struct UnreadableJob {
  api::ObjectMeta meta;
  std::string complaint;
  nlohmann::json conditions{};  // of its status, unchanged
};

class JobCache {
 public:
  // The cache calls this function for each job that a change concerns, in the thread that made the change and
  // without holding a lock.
  using OnChange = std::function<void(const JobKey&, Urgency)>;

  // The cache stores only those facts about nodes that have these keys.
  explicit JobCache(OnChange on_change, api::NodeFactKeys node_facts = {})
      : on_change_(std::move(on_change)), node_facts_(std::move(node_facts)) {}

  // The functions below store changes that the API server sent. Before each change from a watch, call
  // advance_jobs_version() or advance_pods_version(). Do not call these two functions while a list is
  // incomplete, because objects may exist that the list does not contain yet.
  void put_job(const nlohmann::json& object);
  void remove_job(const nlohmann::json& object);
  void put_pod(const nlohmann::json& object);
  void remove_pod(const nlohmann::json& object);
  void put_node(const nlohmann::json& object);
  void remove_node(const nlohmann::json& object);
  // Removes cached objects that the server's list lacks, unless an object is newer than the list.
  void replace_jobs(const std::set<JobKey>& listed, std::uint64_t version);
  void replace_pods(const std::set<JobKey>& listed, std::uint64_t version);
  void replace_nodes(const std::set<std::string>& listed);
  // Records that the server has sent all changes up to and including this version.
  void advance_jobs_version(std::uint64_t version);
  void advance_pods_version(std::uint64_t version);

  // Stores the object in the API server's reply to a write by this operator.
  void put_written_job(const nlohmann::json& object);
  void put_written_pod(const nlohmann::json& object);

  [[nodiscard]] std::optional<JobView> view(const JobKey& key) const;
  [[nodiscard]] std::vector<JobKey> jobs() const;
  [[nodiscard]] std::vector<UnreadableJob> unreadable_jobs() const;
  // Returns the processes of each job of the namespace, except jobs whose pods have all ended. A job counts
  // with the processes of all its members, or of its pods if it has more pods than members.
  [[nodiscard]] ProcessesInUse processes_in_use(const std::string& name_space) const;

 private:
  struct JobEntry {
    api::TrainingJob job;         // if it is unreadable: only its meta
    std::string complaint;        // not empty: it cannot be read
    nlohmann::json conditions{};  // if it is unreadable
    bool is_deleting = false;
    std::uint64_t version = 0;
  };
  using PodKey = JobKey;  // namespace and name

  [[nodiscard]] static JobEntry make_entry(const nlohmann::json& object);
  bool put_job_entry(const JobKey& key, JobEntry entry) RATOON_REQUIRES(mutex_);
  bool put_pod_entry(kube::MemberPod pod) RATOON_REQUIRES(mutex_);  // returns whether it changes anything
  void erase_pod(const PodKey& key) RATOON_REQUIRES(mutex_);
  void erase_pod_and_node(const PodKey& key) RATOON_REQUIRES(mutex_);
  void erase_node(const std::string& name, std::set<JobKey>& touched) RATOON_REQUIRES(mutex_);
  void erase_nonmember_pod(const nlohmann::json& object);
  [[nodiscard]] std::set<JobKey> jobs_using_node(const std::string& node) const RATOON_REQUIRES(mutex_);
  [[nodiscard]] std::set<JobKey> jobs_avoiding_node(const std::string& node) const RATOON_REQUIRES(mutex_);
  void notify_change(const std::set<JobKey>& touched, Urgency urgency) const;

  const OnChange on_change_;
  const api::NodeFactKeys node_facts_;
  mutable Mutex mutex_;
  std::map<JobKey, JobEntry> jobs_ RATOON_GUARDED_BY(mutex_);
  std::map<PodKey, kube::MemberPod> pods_ RATOON_GUARDED_BY(mutex_);
  // The keys are the job's namespace and UID: an owner reference to a job in another namespace is
  // ignored.
  std::map<std::pair<std::string, std::string>, std::set<PodKey>> pods_of_job_ RATOON_GUARDED_BY(mutex_);
  std::map<std::string, std::set<PodKey>> pods_on_node_ RATOON_GUARDED_BY(mutex_);  // by the node's name
  // Pods that avoid the node.
  std::map<std::string, std::set<PodKey>> pods_avoiding_node_ RATOON_GUARDED_BY(mutex_);
  std::map<std::string, api::Node> nodes_ RATOON_GUARDED_BY(mutex_);
  // Deleted nodes that still have pods of members.
  std::set<std::string> deleted_nodes_ RATOON_GUARDED_BY(mutex_);
  std::uint64_t jobs_version_ RATOON_GUARDED_BY(mutex_) = 0;  // the server has sent all changes up to it
  std::uint64_t pods_version_ RATOON_GUARDED_BY(mutex_) = 0;
};

}  // namespace ratoon::runtime
