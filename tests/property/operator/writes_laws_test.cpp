// The laws of an operator that speaks with an API server: the controller, the cluster, its copy and its
// client as they ship, over a server that is in the way of writes and late with news, and over operators that
// end or lose the lease between any two writes while another goes on. A failure says how to replay it;
// environment.h says which seeds are looked at.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <list>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/patience.h"
#include "tests/property/operator/environment.h"
#include "tests/property/operator/laws.h"
#include "tests/property/operator/simulated_cluster.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::writes_laws_test {
namespace {

using core::Observation;
using runtime::Cluster;

// After the last fault, as for the core alone, and the longest pause of a reflector.
constexpr int kCalmTicksMax = 960;
constexpr int kAfterlifeTicks = 400;
constexpr int kQuietTicks = 30;
constexpr int kLooksMax = 40;                             // of one tick
constexpr Duration kPauseMax = std::chrono::seconds(15);  // after a write that failed

// The door of the operator that leads is the world's; whoever else believes to have one speaks to nobody.
class RoomsOf final : public coordinator::Rooms {
 public:
  RoomsOf(SimulatedCluster& cluster, const Caller& caller) : cluster_(cluster), caller_(caller) {}

  void announce(const JobKey&, const api::Announcement& announcement) override {
    if (leads()) cluster_.announce(announcement);
  }
  void close(const JobKey&) override {}
  std::vector<api::ProcessFacts> processes(const JobKey&) const override {
    heard_ = leads() ? cluster_.world().door().processes() : std::vector<api::ProcessFacts>();
    return *heard_;
  }
  std::vector<api::Seat> world(const JobKey&) const override {
    return leads() ? cluster_.world().door().announcement().world : std::vector<api::Seat>();
  }
  Timestamp listening_since(const JobKey&) const override {
    listening_since_ = leads() ? cluster_.world().listening_since() : cluster_.clock().now();
    return listening_since_;
  }

  // As the last look at the job heard them; nothing: there was none. Another job's, which cannot be read,
  // asks for no processes.
  [[nodiscard]] const std::optional<std::vector<api::ProcessFacts>>& heard() const { return heard_; }
  [[nodiscard]] Timestamp heard_since() const { return listening_since_; }

 private:
  [[nodiscard]] bool leads() const {
    return !caller_.is_dead && caller_.fence.is_open(cluster_.clock().now());
  }

  SimulatedCluster& cluster_;
  const Caller& caller_;
  mutable std::optional<std::vector<api::ProcessFacts>> heard_;
  mutable Timestamp listening_since_;
};

// One process.
class Operator {
 public:
  Operator(SimulatedCluster& cluster, std::uint64_t seed) : served_(cluster), rooms_(cluster, caller_) {
    caller_.fence.open_until(Timestamp{Duration::max()});
    runtime::ClusterOptions options;
    options.on_news = [this](const JobKey& key, runtime::Urgency urgency) { queue_.add_now(key, urgency); };
    options.settings.coordinator_url = "http://operator";
    options.fence = &caller_.fence;
    options.log = logger_;
    options.seed = seed;
    options.transport = cluster.connect(caller_);
    cluster_ = std::move(*Cluster::attach({.server = "http://api"}, cluster.clock(), std::move(options)));
    controller_.emplace(cluster.clock(), logger_, queue_, *cluster_, rooms_, metrics_);
  }

  void lose_lease() { caller_.fence.close(); }
  [[nodiscard]] bool leads() const {
    return !caller_.is_dead && caller_.fence.is_open(served_.clock().now());
  }

  void step(bool has_news) {
    cluster_->step({});
    if (!cluster_->is_synced()) return;  // it has not begun
    if (has_news) queue_.add_now(served_.key());
    int looks = 0;
    while (!caller_.is_dead && controller_->step())
      if (++looks > kLooksMax) return served_.find_broken("it looks again at once, over and over");
  }

  // Nothing is to be done that nobody would look at by itself. Beats that bring only a step or a phase ask
  // for no look: what members said is what it was at the last one.
  void check_due() {
    if (served_.world().is_job_gone()) return;  // its copy hears of it with the next watch
    if (!leads() || !rooms_.heard() || served_.clock().now() - served_.failed_at() < kPauseMax) return;
    const auto view = cluster_->view(served_.key());
    if (!view) return;
    const Observation seen{.job = view->job,
                           .pods = view->pods,
                           .processes = *rooms_.heard(),
                           .world = rooms_.world(served_.key()),
                           .nodes = view->nodes,
                           .wall_now = served_.clock().wall_now(),
                           .recovery = {},
                           .listening_since = rooms_.heard_since()};
    const auto decision = core::reconcile(seen, served_.clock().now());
    std::string what;
    bool is_due = false;
    for (const auto& action : decision.actions) {
      const auto* event = std::get_if<core::EmitEvent>(&action);
      is_due |= event == nullptr;
      what += event != nullptr ? "; " + event->message : "";
    }
    if (is_due) served_.find_broken("something is to be done, and nobody looks" + what);
    const auto& status = view->job.status;
    // Who a group's pods are and the next commit may be told a little later, counted from when that stood.
    const auto patience = runtime::patience_with(view->job.spec, status, decision.status);
    const Duration pause = std::max(patience.from_now, patience.after_the_last_write);
    const Timestamp now = served_.clock().now();
    if (!is_patient_ || status != last_stored_) patient_until_ = now + pause * 2;
    last_stored_ = status;
    is_patient_ = pause > Duration::zero();
    if (is_patient_ && now <= patient_until_) return;
    if (decision.status.attempt != status.attempt || decision.status.is_formed != status.is_formed ||
        decision.status.phase != status.phase || decision.status.members != status.members ||
        decision.status.last_checkpoint != status.last_checkpoint)
      served_.find_broken("something is to be written, and nobody looks");
  }

 private:
  SimulatedCluster& served_;
  Caller caller_;
  RoomsOf rooms_;
  const Logger logger_{served_.clock(), {.min_level = LogLevel::kError}};
  runtime::WorkQueue queue_{served_.clock()};
  runtime::OperatorMetrics metrics_;
  std::unique_ptr<Cluster> cluster_;
  std::optional<runtime::Controller> controller_;
  api::TrainingJobStatus last_stored_;
  bool is_patient_ = false;
  Timestamp patient_until_;
};

class WritesStory {
 public:
  WritesStory(std::uint64_t seed, const Scenario& scenario, bool is_told)
      : seed_(seed), is_told_(is_told), cluster_(seed, scenario) {
    start_operator();
  }

  void live() {
    for (int tick = 0; tick < world().scenario().chaos_ticks && !is_broken(); ++tick) pass(true);
    for (int tick = 0; tick < kCalmTicksMax && !is_over() && !is_broken(); ++tick) {
      world().suspend(false);
      pass(false);
    }
    if (!is_broken() && !is_over()) cluster_.find_broken("not over long after the last fault");
    for (int tick = 0; tick < kAfterlifeTicks && !is_broken(); ++tick) pass(false);
    check_end();
    const std::uint64_t writes = cluster_.tally().writes;
    for (int tick = 0; tick < kQuietTicks && !is_broken(); ++tick) pass(false);
    if (cluster_.tally().writes != writes) cluster_.find_broken("it writes though nothing happens");
    EXPECT_TRUE(!is_broken()) << cluster_.broken() << world().broken_seat() << "\n" << world().describe();
  }

  [[nodiscard]] const SimulatedCluster& cluster() const { return cluster_; }
  [[nodiscard]] std::uint64_t leaders() const { return leaders_; }

 private:
  [[nodiscard]] World& world() { return cluster_.world(); }
  [[nodiscard]] bool is_over() { return api::is_over(world().job().status.phase); }
  [[nodiscard]] bool is_broken() { return !cluster_.broken().empty() || !world().broken_seat().empty(); }

  void start_operator() {
    operators_.emplace_back(cluster_, seed_ + ++leaders_);
    if (operators_.size() > 2) operators_.pop_front();
  }

  // The one before stays a while, and does not know.
  void change_leader() {
    operators_.back().lose_lease();
    if (world().moves().percent("and-goes", 50)) operators_.pop_back();
    start_operator();
  }

  void pass(bool is_chaos) {
    const std::uint64_t lost = world().operators_lost();
    cluster_.advance(is_chaos);
    if (world().operators_lost() != lost) change_leader();
    has_news_ |= world().take_news();
    if (world().is_operator_down() || (is_chaos && world().moves().percent("busy", 20))) return;
    const bool has_news = std::exchange(has_news_, false);
    for (auto& each : operators_) each.step(has_news && &each == &operators_.back());
    if (!operators_.back().leads()) {
      world().lose_operator();
      change_leader();
    } else if (!is_broken()) {
      operators_.back().check_due();
    }
    if (is_told_) std::cerr << world().describe() << cluster_.broken() << "\n";
  }

  void check_end() {
    if (is_broken()) return;
    const bool has_ttl = world().scenario().policies.ttl_seconds.has_value();
    if (world().is_job_gone() != has_ttl) cluster_.find_broken("its time to live is over");
    const bool has_succeeded = world().job().status.phase == api::JobPhase::kSucceeded;
    if (has_succeeded && !world().scenario().has_agent && !world().is_trained())
      cluster_.find_broken("it succeeded before its programs were done");
    if (world().is_job_gone() && !world().pods().empty()) cluster_.find_broken("a pod outlives its job");
  }

  std::uint64_t seed_;
  bool is_told_;
  SimulatedCluster cluster_;
  std::list<Operator> operators_;  // the last one leads
  std::uint64_t leaders_ = 0;
  bool has_news_ = false;
};

constexpr std::uint64_t kHeld = 0x5851f42d4c957f2dULL;  // another stream of choices

// Programs without the agent: what it alone can do, the server refuses to take from their owner.
void make_group(Scenario& scenario) {
  scenario.has_agent = false;
  scenario.processes_per_node = 1;
  scenario.members_min = 0;
  scenario.progress_deadline_seconds = 0;
}

// What the pure core takes from anybody, the server would have refused at the job's making: exit codes from
// 80 to 84 have a meaning of their own.
Scenario scenario_of(std::uint64_t seed, bool has_agent = true) {
  Moves moves(seed);
  Scenario scenario = draw_scenario(moves);
  if (!has_agent) make_group(scenario);
  scenario.policies = draw_policies(moves);
  scenario.policies.has_late_watches = false;  // the server's own are
  scenario.tiers = Tiers::kVolume;             // what is resumed is the core's own matter
  scenario.has_damage = false;
  scenario.policies.remakes_pods = false;  // creations that come late do
  scenario.policies.tells_avoided_nodes = true;
  scenario.policies.holds_pods = Dice(seed + kHeld).percent(50);
  for (auto& rule : scenario.policies.rules)
    std::erase_if(rule.exit_codes, [](auto code) { return code >= 80 && code <= 84; });
  std::erase_if(scenario.policies.rules, [](const auto& rule) {
    return rule.exit_codes.empty() && rule.signals.empty() && rule.reasons.empty();
  });
  return scenario;
}

void live_through_worlds(bool has_agent) {
  const Seeds all = seeds_of_this_run(test::afforded(50), "writes_laws_test");
  SimulatedCluster::Tally sum;
  std::uint64_t seeds = 0;
  std::uint64_t leaders = 0;
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    WritesStory story(seed, scenario_of(seed, has_agent), all.is_one());
    story.live();
    if (testing::Test::HasFailure()) return;
    const auto& one = story.cluster().tally();
    ++seeds;
    leaders += story.leaders();
    sum.writes += one.writes;
    sum.conflicts += one.conflicts;
    sum.changed_pods += one.changed_pods;
    sum.exist_already += one.exist_already;
    sum.refusals += one.refusals;
    sum.lost_answers += one.lost_answers;
    sum.complaints += one.complaints;
    sum.late += one.late;
    sum.cut_short += one.cut_short;
  }
  std::cout << seeds << " worlds, " << leaders << " leaders, " << sum.writes << " writes, " << sum.conflicts
            << " conflicts, " << sum.changed_pods << " pods that had changed, " << sum.exist_already
            << " pods that existed, " << sum.refusals << " refusals, " << sum.lost_answers
            << " lost answers, " << sum.late << " writes that came late, " << sum.complaints
            << " complaints about a job that cannot be read, " << sum.cut_short << " decisions cut short\n";
  constexpr std::uint64_t kEnoughToCount = 200;  // of fewer, chance says how often a thing comes to pass
  if (all.is_one() || seeds < kEnoughToCount) return;
  for (const auto count : {sum.conflicts, sum.changed_pods, sum.exist_already, sum.refusals, sum.lost_answers,
                           sum.late, sum.cut_short})
    EXPECT_GE(count, seeds / 10) << "a fault is drawn too seldom";
}

TEST(WritesLaws, HoldOverAServerThatIsInTheWay) {
  live_through_worlds(true);
}

TEST(WritesLaws, HoldForProgramsWithoutTheAgent) {
  live_through_worlds(false);
}

}  // namespace
}  // namespace ratoon::sim::writes_laws_test
