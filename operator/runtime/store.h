// Store: what the operator knows of jobs, their pods and the nodes, small and indexed. It says which jobs a
// change touches, and only of changes that matter.
//
// Writes of our own are put here at once. The server's versions tell them apart from news that was under way
// before: nothing older replaces something newer.
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contract/messages.h"
#include "operator/api/node.h"
#include "operator/api/training_job.h"
#include "operator/kube/pod_codec.h"
#include "operator/runtime/urgency.h"

namespace ratoon::runtime {

// A job, its pods and the nodes that they are on or keep away from, at one moment.
struct View {
  api::TrainingJob job;
  std::vector<api::Pod> pods;
  std::vector<api::Node> nodes;
  std::map<std::string, std::string> pod_versions{};  // the server's, by UID; not of pods that name none
};

[[nodiscard]] std::set<std::string> uids_of_pods(const View& view);

// A TrainingJob that says nothing of use, and why.
struct BrokenJob {
  api::ObjectMeta meta;
  std::string complaint;
  nlohmann::json conditions{};  // of its status, as they are
};

class Store {
 public:
  // Called for each job that a change touches, by the thread that made the change, under no lock.
  using OnNews = std::function<void(const JobKey&, Urgency)>;

  explicit Store(OnNews on_news) : on_news_(std::move(on_news)) {}

  // What the server said. Of a change that it tells in its order, reach is called first; a list is told in
  // another order, and until it is complete it says nothing about what is not in it yet.
  void put_job(const nlohmann::json& object);
  void remove_job(const nlohmann::json& object);
  void put_pod(const nlohmann::json& object);
  void remove_pod(const nlohmann::json& object);
  void put_node(const nlohmann::json& object);
  void remove_node(const nlohmann::json& object);
  // All that is not in the list and not newer than it is gone.
  void replace_jobs(const std::set<JobKey>& listed, std::uint64_t version);
  void replace_pods(const std::set<JobKey>& listed, std::uint64_t version);
  void replace_nodes(const std::set<std::string>& listed);
  // The server told us everything up to here.
  void reach_jobs(std::uint64_t version);
  void reach_pods(std::uint64_t version);

  // What the server answered to a write of ours.
  void put_own_job(const nlohmann::json& object);
  void put_own_pod(const nlohmann::json& object);

  [[nodiscard]] std::optional<View> view(const JobKey& key) const;
  [[nodiscard]] std::vector<JobKey> jobs() const;
  [[nodiscard]] std::vector<BrokenJob> broken_jobs() const;

 private:
  struct JobEntry {
    api::TrainingJob job;         // where it is broken: its meta alone
    std::string complaint;        // not empty: it cannot be read
    nlohmann::json conditions{};  // of one that is broken
    bool is_deleting = false;
    std::uint64_t version = 0;
  };
  using PodKey = JobKey;  // namespace and name

  [[nodiscard]] static JobEntry make_entry(const nlohmann::json& object);
  bool put_job_entry(const JobKey& key, JobEntry entry);
  bool put_pod_entry(kube::MemberPod pod);  // whether it is news
  void erase_pod(const PodKey& key);
  void lose_pod(const PodKey& key);
  void lose_node(const std::string& name, std::set<JobKey>& touched);
  void take_out_pod(const nlohmann::json& object);
  [[nodiscard]] std::set<JobKey> jobs_that_see(const std::string& node) const;      // mutex_ is held
  [[nodiscard]] std::set<JobKey> jobs_that_suspect(const std::string& node) const;  // mutex_ is held
  void tell(const std::set<JobKey>& touched, Urgency urgency) const;

  const OnNews on_news_;
  mutable std::mutex mutex_;
  std::map<JobKey, JobEntry> jobs_;
  std::map<PodKey, kube::MemberPod> pods_;
  // By the job's namespace and UID: an owner in another namespace is none.
  std::map<std::pair<std::string, std::string>, std::set<PodKey>> pods_of_job_;
  std::map<std::string, std::set<PodKey>> pods_on_node_;   // by the node's name
  std::map<std::string, std::set<PodKey>> pods_off_node_;  // that keep away from it
  std::map<std::string, api::Node> nodes_;
  std::set<std::string> gone_nodes_;  // with pods of members on them
  std::uint64_t jobs_version_ = 0;    // up to which the server told us everything
  std::uint64_t pods_version_ = 0;
};

}  // namespace ratoon::runtime
