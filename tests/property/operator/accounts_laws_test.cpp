// The account of a job, over thousands of small worlds with faults: the status, the metrics and the report
// agree, and they are right against what happened in the world. A failure says how to replay it:
//   RATOON_SEED=1234 accounts_laws_test
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "cli/report/report.h"
#include "operator/core/reconcile.h"
#include "operator/local/folder/run_events.h"
#include "operator/runtime/metrics/job_metrics.h"
#include "tests/property/operator/environment.h"
#include "tests/property/operator/laws.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::accounts_laws_test {
namespace {

constexpr int kCalmTicksMax = 900;
constexpr int kRestTicks = 330;

// Of the worlds of one test: a law about something that never happens says nothing.
struct Seen {
  std::uint64_t losses = 0;
  std::uint64_t steps_again = 0;
  std::uint64_t recoveries = 0;
  std::uint64_t taken_over = 0;  // recoveries that another operator finished
  std::uint64_t failed = 0;
  std::uint64_t without_a_step = 0;
};

// One formed world, as it was stored.
struct Formed {
  Attempt attempt;
  Step resumed;
  Step known;  // the newest step that the status, or a process that left the world, reported
};

class Account {
 public:
  Account(Moves moves, const Scenario& scenario, Seen& seen)
      : world_(std::move(moves), scenario), seen_(seen) {}

  void live() {
    const Scenario& scenario = world_.scenario();
    events_.begin(world_.job(), world_.wall_now(), world_.now());
    for (int tick = 0; tick < scenario.chaos_ticks; ++tick) pass(true);
    if (scenario.policies.rests) {
      world_.suspend(true);
      for (int tick = 0; tick < kRestTicks; ++tick) pass(false);
    }
    world_.suspend(false);
    const int calm = kCalmTicksMax + static_cast<int>(10 * std::chrono::seconds(save_seconds()) / kTick);
    for (int tick = 0; tick < calm && !is_over(); ++tick) pass(false);
    for (int tick = 0; tick < 5; ++tick) pass(false);
    events_.end(world_.wall_now());
    ASSERT_TRUE(is_over()) << world_.describe();
    check();
  }

 private:
  [[nodiscard]] std::uint64_t save_seconds() const { return world_.scenario().policies.save_seconds; }
  [[nodiscard]] bool is_over() const { return api::is_over(world_.job().status.phase); }

  void pass(bool is_chaos) {
    world_.advance(is_chaos);
    for (const auto& pod : world_.pods()) existed_.emplace(pod.role + " " + std::to_string(pod.index));
    if (world_.is_operator_down() || world_.is_job_gone() || (is_chaos && world_.moves().percent("busy", 20)))
      return;
    const core::Observation facts = world_.observe();
    const core::Decision decision = core::reconcile(facts, world_.now());
    world_.carry_out(decision, is_chaos);
    if (world_.is_job_gone() || world_.job().status != decision.status) return;
    note_stored(facts, decision);
  }

  void note_stored(const core::Observation& facts, const core::Decision& decision) {
    const auto& before = facts.job.status;
    const auto& after = decision.status;
    metrics_.note(before, after);
    for (const auto& action : decision.actions) {
      const auto* event = std::get_if<core::EmitEvent>(&action);
      if (event == nullptr) continue;
      if (event->reason == "MemberLost" || event->reason == "WorldHung") ++losses_told_;
      events_.record_message(event->reason, event->message, world_.wall_now());
    }
    events_.observe(after, world_.pods(), world_.wall_now(), world_.now());
    note_worlds(facts, after);
    note_recovery(facts, after);
  }

  void note_worlds(const core::Observation& facts, const api::TrainingJobStatus& after) {
    const auto& before = facts.job.status;
    if (!worlds_.empty()) {
      Formed& last = worlds_.back();
      if (before.attempt == last.attempt || !before.is_world_formed)
        last.known = std::max(last.known, before.step);
      for (const auto& process : facts.processes)
        if (process.join_request && process.join_request->has_been_in_world &&
            process.join_request->left_attempt == last.attempt)
          last.known = std::max(last.known, process.join_request->left_step);
    }
    const bool is_new = after.is_world_formed && (!before.is_world_formed || before.attempt != after.attempt);
    if (is_new) worlds_.push_back({after.attempt, after.step, after.step});
  }

  // A recovery that began is reported, unless the job rests or is over first.
  void note_recovery(const core::Observation& facts, const api::TrainingJobStatus& after) {
    const auto& before = facts.job.status;
    if (before.open_recovery && !facts.recovery) is_taken_over_ = true;
    if (after.last_disruption != before.last_disruption) {
      ++recoveries_;
      if (std::exchange(is_taken_over_, false)) ++seen_.taken_over;
      return;
    }
    const bool rests = facts.job.spec.is_suspended || after.suspending_since || api::is_over(after.phase);
    EXPECT_TRUE(!before.open_recovery || after.open_recovery || rests) << "a recovery has no report";
  }

  [[nodiscard]] cli::Report report() const {
    return cli::make_report({.name = "digits",
                             .folder = "digits",
                             .status = world_.job().status,
                             .events = cli::decode_events(text_)});
  }

  // The values of one family, by the value of its own label.
  [[nodiscard]] std::map<std::string, double> metric(std::string_view name) {
    const auto families = runtime::JobMetrics::families();
    std::map<std::string, double> values;
    for (std::size_t i = 0; i < families.size(); ++i) {
      if (families[i].name != name) continue;
      std::vector<prometheus::ClientMetric> series;
      metrics_.add_to(i, api::key_of(world_.job()), world_.wall_now(), series);
      for (const auto& one : series) {
        std::string label;
        for (const auto& pair : one.label)
          if (pair.name == "cause" || pair.name == "part" || pair.name == "phase") label = pair.value;
        values[label] = one.counter.value + static_cast<double>(one.histogram.sample_count);
      }
    }
    return values;
  }

  void check() {
    const cli::Report all = report();
    check_losses(all);
    check_steps(all);
    check_time(all);
    check_recoveries(all);
    for (std::size_t i = 1; i < all.rows.size(); ++i)
      EXPECT_TRUE(existed_.contains(all.rows[i].name)) << all.rows[i].name << " never existed";
    seen_.losses += losses_told_;
    seen_.failed += world_.job().status.phase == api::JobPhase::kFailed ? 1U : 0U;
  }

  void check_losses(const cli::Report& all) {
    const api::Restarts& restarts = world_.job().status.restarts;
    const std::uint64_t counted = std::uint64_t{restarts.disruption} + restarts.application + restarts.hung;
    EXPECT_EQ(counted, losses_told_) << "of the status";
    EXPECT_EQ(all.loss_count, losses_told_) << "of the report";
    constexpr std::size_t kDrawnAll = 400;
    EXPECT_TRUE(losses_told_ > kDrawnAll || all.losses.size() == losses_told_)
        << all.losses.size() << " of " << losses_told_ << " losses are drawn";
    auto of_metrics = metric("ratoon_restarts_total");
    EXPECT_EQ(of_metrics["application"], restarts.application);
    EXPECT_EQ(of_metrics["hung"], restarts.hung);
    EXPECT_EQ(of_metrics["disruption"], restarts.disruption);
  }

  void check_steps(const cli::Report& all) {
    const auto& ledger = world_.job().status.ledger;
    EXPECT_EQ(all.repeated_step_count, ledger.repeated_step_count) << "of the report";
    EXPECT_EQ(metric("ratoon_job_steps_made_again_total")[""],
              static_cast<double>(ledger.repeated_step_count));
    std::uint64_t reported = 0;
    std::uint64_t made = 0;
    for (std::size_t i = 1; i < worlds_.size(); ++i) {
      const std::uint64_t from = worlds_[i].resumed.value();
      const std::uint64_t reached =
          std::max(world_.reached(worlds_[i - 1].attempt), worlds_[i - 1].resumed.value());
      const std::uint64_t known = worlds_[i - 1].known.value();
      reported += known > from ? known - from : 0;
      made += reached > from ? reached - from : 0;
    }
    EXPECT_GE(ledger.repeated_step_count, reported) << "a process reported more steps that were made again";
    EXPECT_LE(ledger.repeated_step_count, made) << "these steps were never made";
    seen_.steps_again += ledger.repeated_step_count;
  }

  void check_time(const cli::Report& all) {
    const auto& status = world_.job().status;
    PartSums sums(all.account);
    EXPECT_NEAR(sums.whole, all.length, 0.01) << "each moment is in one part";
    auto of_metrics = metric("ratoon_job_ledger_seconds_total");
    const auto of = [&](api::TimeLedgerPart part) {
      return status.ledger.seconds[static_cast<std::size_t>(part)];
    };
    const auto agree = [&](const char* part, double of_status, double of_report) {
      EXPECT_NEAR(of_report, of_status, 0.01) << part << " of the report";
      EXPECT_NEAR(of_metrics[part], of_status, 0.01) << part << " of the metrics";
    };
    agree("useful", of(api::TimeLedgerPart::kUseful), sums["useful"] + sums["unfinished"]);
    agree("recomputed", of(api::TimeLedgerPart::kRecomputed), sums["recomputed"]);
    agree("hung", of(api::TimeLedgerPart::kHung), sums["hung"]);
    agree("suspended", of(api::TimeLedgerPart::kSuspended), sums["suspended"]);
    agree("waiting_for_capacity", of(api::TimeLedgerPart::kWaitingForCapacity), sums["waiting_for_capacity"]);
    EXPECT_NEAR(of_metrics["restarting"], of(api::TimeLedgerPart::kRestarting), 0.01);
    if (status.phase == api::JobPhase::kFailed) {
      EXPECT_EQ(sums["useful"], 0) << "a failed run has no useful time";
    }
    const bool has_stepped = std::ranges::any_of(
        worlds_, [&](const Formed& one) { return world_.reached(one.attempt) > one.resumed.value(); });
    if (has_stepped) return;
    ++seen_.without_a_step;
    EXPECT_EQ(of(api::TimeLedgerPart::kUseful) + of(api::TimeLedgerPart::kRecomputed), 0)
        << "no step was made";
  }

  void check_recoveries(const cli::Report& all) {
    EXPECT_EQ(all.recovery_count, recoveries_) << "of the report";
    EXPECT_EQ(metric("ratoon_recovery_seconds")["total"], static_cast<double>(recoveries_))
        << "of the metrics";
    std::uint64_t lost = 0;
    for (const auto& one : all.recoveries) lost += one.lost_steps;
    EXPECT_LE(lost, all.repeated_step_count) << "recoveries lost more steps than the run";
    seen_.recoveries += recoveries_;
  }

  struct PartSums {
    explicit PartSums(const std::vector<std::pair<std::string, double>>& account) {
      for (const auto& [part, seconds] : account) {
        by_part[part] += seconds;
        whole += seconds;
      }
    }
    double operator[](const char* part) { return by_part[part]; }
    std::map<std::string, double> by_part;
    double whole = 0;
  };

  World world_;
  Seen& seen_;
  std::string text_;
  local::RunEvents events_{[this](const std::string& line) { text_ += line; }};
  runtime::JobMetrics metrics_;
  std::uint64_t losses_told_ = 0;
  std::uint64_t recoveries_ = 0;
  bool is_taken_over_ = false;
  std::vector<Formed> worlds_;
  std::set<std::string> existed_;
};

TEST(AccountsLaws, StatusMetricsAndReportAgreeAndAreRight) {
  Seen seen;
  const Seeds all = seeds_of_this_run(test::afforded(400), "accounts_laws_test");
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    Moves moves(seed);
    Scenario scenario = draw_scenario(moves);
    scenario.policies = draw_policies(moves);
    Account(std::move(moves), scenario, seen).live();
    if (HasFailure()) return;
  }
  std::cout << all.count() << " worlds, " << seen.losses << " losses, " << seen.steps_again
            << " steps made again, " << seen.recoveries << " recoveries, " << seen.taken_over
            << " of them taken over, " << seen.failed << " failed, " << seen.without_a_step
            << " without a step\n";
  if (all.count() < 6 * kEnoughToCount) return;  // a failed one is rare
  EXPECT_GT(seen.losses, all.count());
  EXPECT_GT(seen.steps_again, all.count());
  EXPECT_GT(seen.taken_over, all.count() / 50);
  EXPECT_GT(seen.failed, all.count() / 100);
}

}  // namespace
}  // namespace ratoon::sim::accounts_laws_test
