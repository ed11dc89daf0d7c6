// Whole operators, kubelets and members in this process, on an API server in memory. The members are those of
// the library, without a trainer.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent/src/session/link/coordinator_link.h"
#include "base/contract/names.h"
#include "base/http/transport.h"
#include "operator/api/training_job.h"
#include "operator/kube/lenient_json.h"
#include "operator/runtime/operator.h"
#include "tests/support/own_ports.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/operator/threads/api_server_in_memory.h"

namespace ratoon::test {

inline constexpr auto kLook = std::chrono::milliseconds(5);
inline constexpr unsigned kMembers = 2;  // of each job
inline constexpr int kNodes = 6;

// The test's own time limit ends a condition that never holds.
inline void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(kLook);
}

struct OperatorPorts {
  std::vector<std::uint16_t> status;  // of metrics and of probes
  std::uint16_t door = 0;             // of members
};

// Waits for the three ports of an operator that leads.
inline OperatorPorts wait_for_operator_ports(const std::set<std::uint16_t>& known) {
  const auto transport = http::make_transport();
  const auto shows_status = [&](std::uint16_t port) {
    for (const char* path : {"/metrics", "/healthz"}) {
      const auto reply = transport->call({.url = "http://127.0.0.1:" + std::to_string(port) + path}, {}, {});
      if (reply && reply->status == 200) return true;
    }
    return false;
  };
  OperatorPorts ports;
  wait_until([&] {
    ports = {};
    for (const auto one : own_ports()) {
      if (known.contains(one)) continue;
      if (shows_status(one)) {
        ports.status.push_back(one);
      } else {
        ports.door = one;
      }
    }
    return ports.status.size() == 2 && ports.door != 0;
  });
  return ports;
}

// The port of a server that a thread beside this one will open, and that no other server uses.
inline std::uint16_t wait_for_port_beyond(const std::set<std::uint16_t>& known) {
  std::uint16_t port = 0;
  wait_until([&] {
    for (const auto one : own_ports())
      if (!known.contains(one)) port = one;
    return port != 0;
  });
  return port;
}

inline nlohmann::json job_document(const std::string& name, const std::string& name_space = "default",
                                   unsigned members = kMembers) {
  const nlohmann::json container = {{"name", "trainer"}, {"image", "i"}, {"command", {"train"}}};
  return {
      {"apiVersion", names::kApiVersion},
      {"kind", names::kKind},
      {"metadata", {{"name", name}, {"namespace", name_space}, {"generation", 1U}}},
      {"spec",
       {{"numNodes", members},
        {"roles", nlohmann::json::array(
                      {{{"name", "worker"},
                        {"template", {{"spec", {{"containers", nlohmann::json::array({container})}}}}}}})}}}};
}

// An operator in a thread of its own.
class RunningOperator {
 public:
  RunningOperator(const std::string& kubeconfig, const std::string& name, bool is_elected = true)
      : options_{.kubeconfig_path = kubeconfig,
                 .advertise_url = "http://127.0.0.1:1",  // members of this test are told the port
                 .coordinator_port = 0,
                 .metrics_port = 0,
                 .probe_port = 0,
                 .uses_election = is_elected,
                 // A sanitizer on a busy machine may keep an operator from renewing its lease for seconds.
                 .election_times = {.lease = std::chrono::minutes(6), .renew = std::chrono::minutes(4)},
                 .environment = [name](const std::string& variable) -> std::optional<std::string> {
                   if (variable == "HOSTNAME") return name;
                   return std::nullopt;
                 }},
        thread_([this] { result_ = runtime::run_operator(options_); }) {}

  ~RunningOperator() {
    if (thread_.joinable()) static_cast<void>(stop());
  }
  RunningOperator(const RunningOperator&) = delete;
  RunningOperator& operator=(const RunningOperator&) = delete;

  // As the end of its pod does.
  Result<void> stop() {
    ::pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
    return result_;
  }

 private:
  const runtime::OperatorOptions options_;
  Result<void> result_;
  std::jthread thread_;
};

// The actions of a member's processes: they join a world, report steps, and leave it when it changes.
class Member {
 public:
  struct Orders {
    std::atomic<std::uint16_t> door = 0;  // of the operator that leads; 0: of none
    std::atomic<bool> finishes = false;   // the training is done
  };
  Member(const nlohmann::json& pod, const std::filesystem::path& folder, const Orders& orders)
      : orders_(orders), thread_([this, options = options_of(pod, folder)](const std::stop_token& stop) {
          live(options, stop);
        }) {}

  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  static Options options_of(const nlohmann::json& pod, const std::filesystem::path& folder) {
    const nlohmann::json& meta = pod["metadata"];
    const auto label = [&](std::string_view name) {
      return kube::string_field(meta["labels"], std::string(name).c_str());
    };
    const auto number = [&](std::string_view name) {
      return static_cast<std::uint32_t>(std::stoul(label(name)));
    };
    const std::string uid = kube::string_field(meta, "uid");
    const std::string name_space = kube::string_field(meta, "namespace");
    const std::string whose = name_space + "/" + kube::string_field(meta, "name") + "/" + uid;
    std::filesystem::create_directories(folder / uid / "run");
    write_text(folder / uid / "token", whose);
    Options options;
    options.save_folder = folder / uid;
    options.run_name = "run";
    options.member = {.token_file = folder / uid / "token",
                      .job_namespace = name_space,
                      .job_name = label(names::label::kJobName),
                      .role = label(names::label::kRole),
                      .member_uid = uid,
                      .index = number(names::label::kIndex),
                      .incarnation = number(names::label::kIncarnation)};
    return options;
  }

  // A process for each operator that leads.
  void live(Options options, const std::stop_token& stop) {
    while (!stop.stop_requested() && !is_done_) {
      const std::uint16_t door = orders_.door;
      std::this_thread::sleep_for(kLook);
      if (door == 0) continue;
      options.member.coordinator_url = "http://127.0.0.1:" + std::to_string(door);
      checkpoint::CallsWithTimeout calls{std::chrono::hours(1), std::make_shared<SystemClock>()};
      const auto link = session::CoordinatorLink::open(options, calls).value();
      const std::stop_callback given_up(stop, [&] { link->give_up("the test ends this member"); });
      while (!stop.stop_requested() && !is_done_ && orders_.door == door) train(*link, door, stop);
    }
  }

  void train(session::Link& link, std::uint16_t door, const std::stop_token& stop) {
    const auto assignment = link.join({}, left_);
    if (!assignment) return;
    left_ = assignment->attempt;
    session::ProcessReport position{.attempt = assignment->attempt};
    while (link.world_status() == session::WorldStatus::kGoOn && !stop.stop_requested() &&
           orders_.door == door) {
      position.milestone = session::Milestone::kStepped;
      position.phase = ProcessPhase::kCompute;
      position.step = Step(position.step.value() + 1);
      const bool hands_over = link.outside_requests().hand_over >= position.attempt;
      if (orders_.finishes || hands_over) position.committed = checkpoint_of(position);
      link.note_position(position);
      if (orders_.finishes) is_done_ = link.complete(position, stop).has_value();
      if (orders_.finishes || hands_over) return;
      std::this_thread::sleep_for(kLook);
    }
  }

  static InventoryEntry checkpoint_of(const session::ProcessReport& position) {
    return {.tier = "volume",
            .attempt = position.attempt,
            .step = position.step,
            .digest = "d",
            .is_complete = true};
  }

  const Orders& orders_;
  std::atomic<bool> is_done_ = false;
  Attempt left_{0};      // of the thread
  std::jthread thread_;  // last: it uses everything above
};

// The kubelets of all nodes, in one thread, for the pods of the namespace "default": pods get a node and run,
// members that are done end with success, deleted pods go, and so do pods whose job is gone.
class Kubelets {
 public:
  Kubelets(ApiServerInMemory& server, const Member::Orders& orders)
      : server_(server), orders_(orders), thread_([this](const std::stop_token& stop) {
          std::uint64_t seen = 0;
          while (!stop.stop_requested()) {
            seen = server_.wait_for_news(seen, stop);
            look();
          }
        }) {}

 private:
  static constexpr const char* kServed = "default";

  void look() {
    std::set<std::string> jobs;
    for (const nlohmann::json& job : server_.objects("trainingjobs", kServed))
      jobs.insert(kube::string_field(job["metadata"], "uid"));
    std::set<std::string> there;
    for (const nlohmann::json& pod : server_.objects("pods", kServed)) {
      const nlohmann::json& meta = pod["metadata"];
      const std::string uid = kube::string_field(meta, "uid");
      const bool is_orphan =
          !jobs.contains(kube::string_field(meta["labels"], std::string(names::label::kJobUid).c_str()));
      if (is_orphan || meta.contains("deletionTimestamp")) {
        members_.erase(uid);
        server_.remove("pods", ApiServerInMemory::key_of(pod));
        continue;
      }
      there.insert(uid);
      tend(pod, uid);
    }
    std::erase_if(members_, [&](const auto& item) { return !there.contains(item.first); });
  }

  void tend(const nlohmann::json& pod, const std::string& uid) {
    const std::string key = ApiServerInMemory::key_of(pod);
    const Member& member = members_.try_emplace(uid, pod, folder_.path(), orders_).first->second;
    if (kube::string_field(pod["spec"], "nodeName").empty()) {
      server_.change("pods", key, [&](nlohmann::json& bound) {
        bound["spec"]["nodeName"] = "node-" + std::to_string(bound_++ % kNodes);
        bound["status"] = {{"phase", "Running"}, {"podIP", "127.0.0.1"}};
      });
    }
    if (!member.is_done()) return;
    const nlohmann::json ended = {{"name", "trainer"}, {"state", {{"terminated", {{"exitCode", 0}}}}}};
    if (kube::string_field(pod["status"], "phase") == "Succeeded") return;
    server_.change("pods", key, [&](nlohmann::json& done) {
      done["status"] = {{"phase", "Succeeded"}, {"containerStatuses", nlohmann::json::array({ended})}};
    });
  }

  ApiServerInMemory& server_;
  const Member::Orders& orders_;
  TemporaryFolder folder_;
  int bound_ = 0;
  std::map<std::string, Member> members_;  // by UID
  std::jthread thread_;                    // last: it uses everything above
};

// A kubeconfig for the server, six nodes, and a lease that is given back, so that no operator has to wait for
// its end.
inline void prepare_cluster(ApiServerInMemory& server, const std::filesystem::path& kubeconfig) {
  using nlohmann::json;
  write_text(
      kubeconfig,
      json{
          {"current-context", "a"},
          {"contexts", {{{"name", "a"}, {"context", {{"cluster", "a"}, {"user", "a"}}}}}},
          {"clusters",
           {{{"name", "a"}, {"cluster", {{"server", "http://127.0.0.1:" + std::to_string(server.port())}}}}}},
          {"users", {{{"name", "a"}, {"user", json::object()}}}}}
          .dump());
  server.put("leases", {{"metadata", {{"name", "ratoon-operator"}, {"namespace", "default"}}},
                        {"spec", {{"leaseDurationSeconds", 6U}, {"leaseTransitions", 0U}}}});
  const json ready = {{"type", "Ready"}, {"status", "True"}};
  for (int i = 0; i < kNodes; ++i) {
    server.put("nodes", {{"metadata", {{"name", "node-" + std::to_string(i)}}},
                         {"spec", json::object()},
                         {"status", {{"conditions", json::array({ready})}}}});
  }
}

// The jobs of the namespace "default" as the API server has them.
class StoredJobs {
 public:
  explicit StoredJobs(ApiServerInMemory& server) : server_(server) {}

  [[nodiscard]] api::TrainingJob job(const std::string& name) const {
    const auto found = server_.find("trainingjobs", "default/" + name);
    if (!found) return {};
    const auto job = api::decode_training_job(*found);
    EXPECT_TRUE(job) << job.error().message();
    return job ? *job : api::TrainingJob();
  }
  std::uint64_t wait_for_world_after(const std::string& name, std::uint64_t attempt) const {
    std::uint64_t now = 0;
    wait_until([&] {
      const auto status = job(name).status;
      now = status.is_world_formed ? status.attempt.value() : 0;
      return now > attempt;
    });
    return now;
  }
  // Returns once the job trains without the lost pod.
  void lose_a_pod(const std::string& name) {
    const std::uint64_t attempt = wait_for_world_after(name, 0);
    for (const nlohmann::json& pod : server_.objects("pods", "default")) {
      if (kube::string_field(pod["metadata"]["labels"], std::string(names::label::kJobName).c_str()) != name)
        continue;
      server_.remove("pods", ApiServerInMemory::key_of(pod));
      break;
    }
    wait_for_world_after(name, attempt);
  }

 private:
  ApiServerInMemory& server_;
};

}  // namespace ratoon::test
