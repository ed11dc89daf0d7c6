// cluster_probe KUBECONFIG: makes the operator's calls to a real API server. Reads one command a line,
// answers each with one line of JSON:
//   wait-synced | fresh | jobs | broken | view NAME | keep NAME | write NAME STEP | write-kept STEP
//   create NAME INDEX [AVOIDED] | delete NAME POD UID | event NAME MESSAGE | token TOKEN |
//   news NAME | delete-kept POD UID
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/api_server/kubeconfig.h"
#include "operator/runtime/jobs/cluster.h"
#include "operator/runtime/members/token_reviewer.h"

namespace {

using nlohmann::json;
using ratoon::JobKey;
using ratoon::Result;
namespace api = ratoon::api;
namespace runtime = ratoon::runtime;

constexpr const char* kNamespace = "default";

// Wakes the threads that wait for a change.
class News {
 public:
  void take(const JobKey& key) {
    const std::lock_guard lock(mutex_);
    ++count_[key.name];
    changed_.notify_all();
  }
  template <class Condition>
  bool wait(Condition is_true) {
    std::unique_lock lock(mutex_);
    for (int i = 0; i < 600; ++i) {  // the condition may change without news, so look again now and then
      lock.unlock();
      if (is_true()) return true;
      lock.lock();
      changed_.wait_for(lock, std::chrono::milliseconds(50));
    }
    return false;
  }
  int count(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return count_[name];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> count_;
};

json outcome(const Result<void>& done) {
  if (done) return {{"ok", true}};
  return {{"error", ratoon::name_of(done.error().kind())}, {"message", done.error().message()}};
}

json describe(const runtime::JobView& view) {
  json pods = json::array();
  for (const auto& pod : view.pods) {
    pods.push_back({{"name", pod.name},
                    {"uid", pod.uid},
                    {"role", pod.role},
                    {"index", pod.index},
                    {"incarnation", pod.incarnation},
                    {"node", pod.node},
                    {"phase", static_cast<int>(pod.phase)},
                    {"deleting", pod.is_deleting},
                    {"evicted", pod.is_evicted},
                    {"completed", pod.is_completed},
                    {"exit_code", pod.exit_code ? json(*pod.exit_code) : json()}});
  }
  json nodes = json::array();
  for (const auto& node : view.nodes)
    nodes.push_back(
        {{"name", node.name}, {"unschedulable", node.is_unschedulable}, {"taints", node.taints.size()}});
  return {{"uid", view.job.meta.uid},
          {"version", view.job.meta.resource_version},
          {"step", view.job.status.step.value()},
          {"pods", pods},
          {"nodes", nodes}};
}

class Probe {
 public:
  Probe(runtime::Cluster& cluster, runtime::TokenReviewer& tokens, News& news)
      : cluster_(cluster), tokens_(tokens), news_(news) {}

  json answer(const std::string& command, std::istringstream& words) {
    if (command == "wait-synced") return news_.wait([&] { return cluster_.is_synced(); });
    if (command == "fresh") return cluster_.is_fresh();
    if (command == "jobs") return cluster_.jobs().size();
    if (command == "broken") return broken();
    if (command == "write-kept") return write(kept_, words);
    if (command == "delete-kept") return remove(*kept_view_, words);
    if (command == "token") return review(words);
    std::string name;
    words >> name;
    if (command == "news") return news_.count(name);
    auto view = cluster_.view({.name_space = kNamespace, .name = name});
    if (!view) return {{"gone", true}};
    if (command == "view") return describe(*view);
    if (command == "keep") {
      kept_ = view->job;
      kept_view_ = view;
      return true;
    }
    if (command == "write") return write(view->job, words);
    if (command == "delete") return remove(*view, words);
    return act(command, view->job, words);
  }

 private:
  json broken() {
    json list = json::array();
    for (const auto& job : cluster_.unreadable_jobs())
      list.push_back({{"name", job.meta.name}, {"why", job.complaint}});
    return list;
  }

  json write(std::optional<api::TrainingJob> job, std::istringstream& words) {
    std::uint64_t step = 0;
    words >> step;
    job->status.step = ratoon::Step(step);
    job->status.last_checkpoint.reset();
    if (step % 2 == 0) job->status.last_checkpoint = {.step = ratoon::Step(step), .digest = "d"};
    return outcome(cluster_.write_status(*job));
  }

  json remove(const runtime::JobView& seen, std::istringstream& words) {
    std::string name;
    std::string uid;
    words >> name >> uid;
    return outcome(cluster_.delete_pod(seen, {.name = name, .uid = uid, .reason = "the test says so"}));
  }

  json act(const std::string& command, const api::TrainingJob& job, std::istringstream& words) {
    std::string first;
    std::string second;
    words >> first >> second;
    if (command == "create") {
      const auto index = static_cast<std::uint32_t>(first[0] - '0');
      ratoon::core::CreatePod action{.pod = {.name = ratoon::member_name(key_of(job), "worker", index, 0),
                                             .role = "worker",
                                             .index = index}};
      if (!second.empty())
        action.avoid_nodes.push_back({.name = second, .pods = {{.role = "worker", .index = 7}}});
      const auto made = cluster_.create_pod(job, action);
      return outcome(made ? Result<void>() : made.error());
    }
    if (command == "event") {
      cluster_.emit_event(job, {.is_warning = true, .reason = "Tested", .message = first});
      return true;
    }
    return {{"unknown", command}};
  }

  json review(std::istringstream& words) {
    std::string token;
    words >> token;
    const auto identity = tokens_.review(token, {});
    if (!identity) return outcome(identity.error());
    return {{"namespace", identity->name_space},
            {"service_account", identity->service_account},
            {"pod", identity->pod_name},
            {"pod_uid", identity->pod_uid}};
  }

  runtime::Cluster& cluster_;
  runtime::TokenReviewer& tokens_;
  News& news_;
  std::optional<api::TrainingJob> kept_;
  std::optional<runtime::JobView> kept_view_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const ratoon::SystemClock clock;
  News news;
  auto access = runtime::read_kubeconfig(argv[1]);
  if (!access) {
    std::printf("%s\n", outcome(access.error()).dump().c_str());
    return 1;
  }
  runtime::ClusterOptions options;
  options.on_change = [&](const JobKey& key, runtime::Urgency) { news.take(key); };
  options.settings.coordinator_url = "http://10.96.0.7:9443";
  options.reporter = "probe";
  const runtime::ApiClient review_client(*access, clock);
  runtime::TokenReviewer tokens(review_client, clock);
  auto cluster = runtime::Cluster::connect(*access, clock, std::move(options));
  if (!cluster) return 1;
  Probe probe(**cluster, tokens, news);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    std::printf("%s\n", probe.answer(command, words).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}
