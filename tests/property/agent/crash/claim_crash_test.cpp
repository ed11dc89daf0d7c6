// Power cuts at every operation of a job that claims its place, renews the claim and releases it: the place
// is never lost for any next start, and the job itself need not even wait.
#include <cstdio>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/tiers/claim.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"

namespace ratoon::checkpoint::claim_crash_test {
namespace {

using std::chrono::seconds;
using test::CrashState;
using test::DiskCall;
using test::Fault;
using test::ModelDisk;

constexpr ClaimTimes kTimes{.lease = seconds(30), .poll_interval = seconds(1), .namesake_wait = seconds(300)};

Result<Claim> take(const std::shared_ptr<Disk>& disk, const std::string& job, Duration& waited) {
  ManualClock clock;
  SeenClaim seen;
  const auto pause = [&](Duration look) {
    clock.advance(look);
    waited += look;
    return true;
  };
  return Claim::take(disk, {.job = job, .start = "next"}, kTimes, clock, pause, seen);
}

std::vector<test::DiskOp> log_of_a_life(const test::FaultPlan& faults = {}) {
  const auto disk = std::make_shared<ModelDisk>();
  disk->set_faults(faults);
  Duration waited{0};
  auto claim = take(disk, "digits of 1", waited);
  EXPECT_TRUE(claim);
  disk->acknowledge("taken");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(claim->renew());
  EXPECT_TRUE(*renew_for_owner(*disk, **newest_claim(*disk), "waits"));
  EXPECT_TRUE(claim->renew());
  auto again = take(disk, "digits of 1", waited);
  EXPECT_TRUE(again && again->renew() && again->release());
  return disk->log();
}

std::optional<std::string> judge_next(const CrashState& state, const std::string& job, Duration waits_max) {
  const auto disk = std::make_shared<ModelDisk>(state.image);
  Duration waited{0};
  auto claim = take(disk, job, waited);
  if (!claim) return "the place is lost: " + claim.error().message();
  if (waited > waits_max) return job + " waited for " + std::to_string(waited.count() / 1'000'000'000) + " s";
  if (auto renewed = claim->renew(); !renewed) return "not renewed: " + renewed.error().message();
  for (const std::string& path : disk->all_paths())
    if (path != "claims/c" + path.substr(8)) return "litter stays: " + path;
  return std::nullopt;
}

std::optional<std::string> judge(const CrashState& state) {
  if (auto same = judge_next(state, "digits of 1", seconds(0))) return same;
  return judge_next(state, "letters of 2", kTimes.lease);
}

TEST(ClaimPowerCut, LosesNoPlace) {
  const auto report = test::check_crashes(
      {.ops = log_of_a_life(), .chances_a_cut = static_cast<std::uint32_t>(test::afforded(200))}, judge);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  std::printf("claims: %llu states, %llu of them different\n", static_cast<unsigned long long>(report.states),
              static_cast<unsigned long long>(report.distinct));
}

// A claim without its bytes on the disk has an unknown owner. A start waits one lease for this owner, and no
// longer.
TEST(ClaimPowerCut, WithoutASyncCostsALeaseAndNoPlace) {
  if (test::kEffortPercent < 100)
    GTEST_SKIP() << "a search for what is lost; sanitizers look for other things";
  const auto ops = log_of_a_life(
      [](DiskCall call, const std::string&) { return Fault{.is_swallowed = call == DiskCall::kSync}; });
  EXPECT_GT(test::check_crashes({.ops = ops, .chances_a_cut = 50}, judge).bad, 0u);
  const auto waits = [](const CrashState& state) { return judge_next(state, "digits of 1", kTimes.lease); };
  const auto report = test::check_crashes({.ops = ops, .chances_a_cut = 50}, waits);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
}

}  // namespace
}  // namespace ratoon::checkpoint::claim_crash_test
