// Operators as they ship over a simulated cluster, one of which leads, and the course of a story with them.
#pragma once

#include <algorithm>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/jobs/status_debounce.h"
#include "tests/property/operator/simulated_cluster.h"

namespace ratoon::sim {

// The time after the last fault, as for the core alone, and the longest pause of a reflector.
inline constexpr int kCalmTicksMax = 960;
inline constexpr int kAfterlifeTicks = 400;
inline constexpr int kQuietTicks = 30;
inline constexpr int kLooksMax = 40;                             // of one tick
inline constexpr Duration kPauseMax = std::chrono::seconds(15);  // after a write that failed

// The coordinator of the leading operator receives the world's messages; another operator that believes to
// lead receives none.
class RegistryOf final : public coordinator::JobRegistry {
 public:
  RegistryOf(SimulatedCluster& cluster, const Caller& caller) : cluster_(cluster), caller_(caller) {}

  void announce(const JobKey& key, const api::Announcement& announcement) override {
    if (leads()) cluster_.announce(key, announcement);
  }
  void close(const JobKey&) override {}
  void forget_processes(const JobKey&) override {}
  std::vector<api::ProcessFacts> processes(const JobKey& key) const override {
    auto& heard = heard_[key];
    heard = leads() ? cluster_.world_of(key).job_session().processes() : std::vector<api::ProcessFacts>();
    return heard;
  }
  std::vector<api::AssignedProcess> world(const JobKey& key) const override {
    return leads() ? cluster_.world_of(key).job_session().announcement().world
                   : std::vector<api::AssignedProcess>();
  }
  Timestamp listening_since(const JobKey& key) const override {
    return listening_since_[key] =
               leads() ? cluster_.world_of(key).listening_since() : cluster_.clock().now();
  }

  // The messages up to the last decision about that job; nullptr: there were none.
  [[nodiscard]] const std::vector<api::ProcessFacts>* heard(const JobKey& key) const {
    const auto found = heard_.find(key);
    return found == heard_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] Timestamp heard_since(const JobKey& key) const { return listening_since_[key]; }

 private:
  [[nodiscard]] bool leads() const {
    return !caller_.is_dead && caller_.fence.is_open(cluster_.clock().now());
  }

  SimulatedCluster& cluster_;
  const Caller& caller_;
  mutable std::map<JobKey, std::vector<api::ProcessFacts>> heard_;
  mutable std::map<JobKey, Timestamp> listening_since_;
};

// One process.
class Operator {
 public:
  Operator(SimulatedCluster& cluster, std::uint64_t seed) : served_(cluster), registry_(cluster, caller_) {
    caller_.fence.open_until(Timestamp{Duration::max()});
    runtime::ClusterOptions options;
    options.node_facts = core::fact_keys_of(core::built_in_notice_rules());
    options.on_change = [this](const JobKey& key, runtime::Urgency urgency) { queue_.add_now(key, urgency); };
    options.settings.coordinator_url = "http://operator";
    options.fence = &caller_.fence;
    options.log = logger_;
    options.seed = seed;
    options.transport = cluster.connect(caller_);
    cluster_ = std::move(*runtime::Cluster::connect_without_threads({.server = "http://api"}, cluster.clock(),
                                                                    std::move(options)));
    controller_.emplace(cluster.clock(), logger_, queue_, *cluster_, registry_, metrics_);
  }

  void lose_lease() { caller_.fence.close(); }
  [[nodiscard]] bool leads() const {
    return !caller_.is_dead && caller_.fence.is_open(served_.clock().now());
  }

  void step(const std::set<JobKey>& news) {
    cluster_->step({});
    if (!cluster_->is_synced()) return;  // it has not begun
    for (const auto& key : news) queue_.add_now(key);
    std::size_t looks = 0;
    while (!caller_.is_dead && controller_->step())
      if (++looks > kLooksMax * served_.keys().size())
        return served_.find_broken("it looks again at once, over and over");
  }

  // No action is left that no decision would find by itself. Beats that bring only a step or a phase cause no
  // decision: the members' facts are those of the last decision.
  void check_due() {
    for (const auto& key : served_.keys()) check_due(key);
  }

 private:
  // The changes of one job that wait a little before they are stored.
  struct Patient {
    api::TrainingJobStatus last_stored;
    bool is_patient = false;
    Timestamp until;
  };

  void check_due(const JobKey& key) {
    if (served_.world_of(key).is_job_gone()) return;  // its copy hears of it with the next watch
    const auto* heard = registry_.heard(key);
    if (!leads() || heard == nullptr || served_.clock().now() - served_.failed_at() < kPauseMax) return;
    const auto view = cluster_->view(key);
    if (!view) return;
    const core::Observation seen{.job = view->job,
                                 .pods = view->pods,
                                 .processes = *heard,
                                 .world = registry_.world(key),
                                 .nodes = view->nodes,
                                 .wall_now = served_.clock().wall_now(),
                                 .recovery = {},
                                 .listening_since = registry_.heard_since(key)};
    const auto decision = core::reconcile(seen, served_.clock().now());
    std::string what;
    bool is_due = false;
    for (const auto& action : decision.actions) {
      const auto* event = std::get_if<core::EmitEvent>(&action);
      is_due |= event == nullptr;
      what += event != nullptr ? "; " + event->message : "";
    }
    if (is_due) served_.find_broken("something is to be done, and nobody looks" + what);
    if (is_to_be_written(view->job, decision, patient_[key]))
      served_.find_broken("something is to be written, and nobody looks");
  }

  bool is_to_be_written(const api::TrainingJob& job, const core::Decision& decision, Patient& known) const {
    const auto& status = job.status;
    // The pods of a group and the next commit may be stored a little later, counted from the time at which
    // they were known.
    const auto patience = runtime::status_debounce_for(job.spec, status, decision.status);
    const Duration pause = std::max(patience.after_first_change, patience.after_last_write);
    const Timestamp now = served_.clock().now();
    if (!known.is_patient || status != known.last_stored) known.until = now + pause * 2;
    known.last_stored = status;
    known.is_patient = pause > Duration::zero();
    if (known.is_patient && now <= known.until) return false;
    return decision.status.attempt != status.attempt ||
           decision.status.is_world_formed != status.is_world_formed ||
           decision.status.phase != status.phase || decision.status.members != status.members ||
           decision.status.last_checkpoint != status.last_checkpoint;
  }

  SimulatedCluster& served_;
  Caller caller_;
  RegistryOf registry_;
  const Logger logger_{served_.clock(), {.min_level = LogLevel::kError}};
  runtime::WorkQueue queue_{served_.clock()};
  runtime::OperatorMetrics metrics_;
  std::unique_ptr<runtime::Cluster> cluster_;
  std::optional<runtime::Controller> controller_;
  std::map<JobKey, Patient> patient_;
};

class WritesStory {
 public:
  WritesStory(const Choices& choices, const std::vector<Scenario>& jobs, bool is_told,
              SimulatedCluster::Server server = SimulatedCluster::Server::kIsInTheWay)
      : seed_(choices.seed), is_told_(is_told), cluster_(choices, jobs, server) {
    start_operator();
  }

  void live() {
    for (int tick = 0; tick < first().scenario().chaos_ticks && !is_broken(); ++tick) pass(true);
    for (int tick = 0; tick < kCalmTicksMax && !is_over() && !is_broken(); ++tick) {
      for (const auto& key : cluster_.keys()) cluster_.world_of(key).suspend(false);
      pass(false);
    }
    if (!is_broken() && !is_over()) cluster_.find_broken("not over long after the last fault");
    for (int tick = 0; tick < kAfterlifeTicks && !is_broken(); ++tick) pass(false);
    check_end();
    const std::uint64_t writes = cluster_.tally().writes;
    for (int tick = 0; tick < kQuietTicks && !is_broken(); ++tick) pass(false);
    if (cluster_.tally().writes != writes) cluster_.find_broken("it writes though nothing happens");
    EXPECT_TRUE(!is_broken()) << cluster_.broken() << broken_seats() << "\n" << describe();
  }

  // The state of the first job's world after each tick, and its stored status.
  [[nodiscard]] const std::vector<std::string>& past_of_first() const { return past_of_first_; }
  [[nodiscard]] bool has_shared_a_node() const { return shares_a_node_; }

  [[nodiscard]] const SimulatedCluster& cluster() const { return cluster_; }
  [[nodiscard]] std::uint64_t leaders() const { return leaders_; }

 private:
  [[nodiscard]] World& first() { return cluster_.first(); }
  [[nodiscard]] bool is_over() const {
    return std::ranges::all_of(cluster_.keys(), [&](const JobKey& key) {
      return api::is_over(cluster_.world_of(key).job().status.phase);
    });
  }
  [[nodiscard]] std::string broken_seats() const {
    std::string text;
    for (const auto& key : cluster_.keys()) text += cluster_.world_of(key).broken_seat();
    return text;
  }
  [[nodiscard]] std::string describe() const {
    std::string text;
    for (const auto& key : cluster_.keys()) text += cluster_.world_of(key).describe();
    return text;
  }
  [[nodiscard]] bool is_broken() const { return !cluster_.broken().empty() || !broken_seats().empty(); }

  void start_operator() {
    operators_.emplace_back(cluster_, seed_ + ++leaders_);
    if (operators_.size() > 2) operators_.pop_front();
  }

  // The former operator continues for a while, and does not know of its loss.
  void change_leader() {
    operators_.back().lose_lease();
    if (first().moves().percent("and-goes", 50)) operators_.pop_back();
    start_operator();
  }

  void pass(bool is_chaos) {
    const std::uint64_t lost = first().operators_lost();
    cluster_.advance(is_chaos);
    if (first().operators_lost() != lost) change_leader();
    for (const auto& key : cluster_.keys())
      if (cluster_.world_of(key).take_news()) news_.insert(key);
    if (!first().is_operator_down() && !(is_chaos && first().moves().percent("busy", 20))) look();
    if (is_told_) std::cerr << describe() << cluster_.broken() << "\n";
    shares_a_node_ |= are_on_one_node();
    past_of_first_.push_back(first().describe() + api::encode_status(first().job().status).dump());
  }

  // Whether the pods are of two jobs.
  [[nodiscard]] bool are_on_one_node() const {
    std::map<std::string, JobKey> taken;
    for (const auto& key : cluster_.keys())
      for (const auto& pod : cluster_.world_of(key).pods())
        if (!pod.node.empty() && taken.emplace(pod.node, key).first->second != key) return true;
    return false;
  }

  void look() {
    const std::set<JobKey> news = std::exchange(news_, {});
    for (auto& each : operators_) each.step(&each == &operators_.back() ? news : std::set<JobKey>());
    if (!operators_.back().leads()) {
      for (const auto& key : cluster_.keys()) cluster_.world_of(key).lose_operator();
      change_leader();
    } else if (!is_broken()) {
      operators_.back().check_due();
    }
  }

  void check_end() {
    if (is_broken()) return;
    for (const auto& key : cluster_.keys()) check_end(cluster_.world_of(key));
  }

  void check_end(const World& world) {
    const bool has_ttl = world.scenario().policies.ttl_seconds.has_value();
    if (world.is_job_gone() != has_ttl) cluster_.find_broken("its time to live is over");
    const bool has_succeeded = world.job().status.phase == api::JobPhase::kSucceeded;
    if (has_succeeded && !world.scenario().has_agent && !world.is_trained())
      cluster_.find_broken("it succeeded before its programs were done");
    if (world.is_job_gone() && !world.pods().empty()) cluster_.find_broken("a pod outlives its job");
  }

  std::uint64_t seed_;
  bool is_told_;
  SimulatedCluster cluster_;
  std::list<Operator> operators_;  // the last one leads
  std::uint64_t leaders_ = 0;
  std::set<JobKey> news_;
  std::vector<std::string> past_of_first_;
  bool shares_a_node_ = false;
};

}  // namespace ratoon::sim
