// Power cuts, refusals and deaths of saves through slots: the test steps through the writer, two ranks in
// turn on one disk, and a process that dies leaves its slots to the next.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::staged_crash_test {
namespace {

using test::CrashReport;
using test::CrashState;
using test::DiskCall;
using test::Fault;
using test::ModelDisk;

constexpr std::uint32_t kRanks = 2;

// Two processes of a world, each with its saver.
class World {
 public:
  explicit World(std::shared_ptr<ModelDisk> disk) : disk_(std::move(disk)) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      auto work = SavePipeline::open(disk_, "mark" + std::to_string(rank), clock_,
                                     {.pause = {}, .has_writer_thread = false});
      if (work) works_.push_back(*std::move(work));
    }
  }
  [[nodiscard]] bool has_begun() const { return works_.size() == kRanks; }
  void begin(std::uint64_t attempt) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      works_[rank]->begin_attempt(
          {.attempt = Attempt(attempt), .rank = Rank(rank), .world_size = kRanks, .rules = {.last = 2}});
  }
  // Both ranks stage, then their writers take turns; each report of a saved checkpoint is recorded as
  // promised.
  void save(const CheckpointId& id) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const LoadedTensors states = test::states_of(id, rank);
      static_cast<void>(works_[rank]->save(id.step, test::views_of(states)));
    }
    for (bool has_worked = true; has_worked;) {
      has_worked = false;
      for (const auto& work : works_) {
        has_worked = work->do_work_unit() || has_worked;
        note(work->progress());
      }
    }
  }
  [[nodiscard]] std::uint64_t missed() const {
    std::uint64_t sum = 0;
    for (const auto& work : works_) sum += work->progress().missed_saves;
    return sum;
  }

 private:
  void note(const SaveProgress& progress) {
    if (!progress.committed || told_ == progress.committed->step) return;
    told_ = progress.committed->step;
    disk_->acknowledge(test::text_of(id_of(*progress.committed)));
  }

  const std::shared_ptr<ModelDisk> disk_;
  const std::shared_ptr<const Clock> clock_ = std::make_shared<SystemClock>();
  std::vector<std::shared_ptr<SavePipeline>> works_;
  std::optional<Step> told_;
};

std::optional<std::string> judge(const CrashState& state) {
  const auto disk = std::make_shared<ModelDisk>(state.image);
  const auto store = RunStore::open(disk, "next");
  if (!store) return "cannot be opened: " + store.error().message();
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  if (!state.acknowledged.empty()) {
    const CheckpointId promised = test::parse_id(state.acknowledged.back());
    if (!recovered || *recovered < promised) return "lost " + test::text_of(promised);
  }
  const CheckpointId next{.attempt = Attempt(store->inventory()->newest_attempt.value() + 1),
                          .step = Step(1000)};
  World world(disk);
  world.begin(next.attempt.value());
  world.save(next);
  const auto committed = store->find(next);
  if (!committed || !*committed) return "wedged";
  if (const auto litter = test::find_litter(*store, disk->all_paths())) return "litter stays: " + *litter;
  return std::nullopt;
}

std::vector<test::DiskOp> log_of(const test::FaultPlan& faults, std::uint64_t* missed = nullptr) {
  const auto disk = std::make_shared<ModelDisk>();
  disk->set_faults(faults);
  World world(disk);
  if (!world.has_begun()) return disk->log();
  std::uint64_t attempt_now = 0;
  for (const auto& [attempt, step] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 10}, {1, 20}, {1, 30}, {2, 25}}) {
    if (attempt != attempt_now) world.begin(attempt);
    attempt_now = attempt;
    world.save({.attempt = Attempt(attempt), .step = Step(step)});
  }
  if (missed != nullptr) *missed = world.missed();
  return disk->log();
}

TEST(StagedPowerCut, NothingAcknowledgedIsLost) {
  CrashReport sum;
  for (std::uint64_t seed = 1; seed <= test::afforded(2); ++seed) {
    const CrashReport report = check_crashes(
        {.ops = log_of({}), .chances_a_cut = static_cast<std::uint32_t>(test::afforded(40)), .seed = seed},
        judge);
    EXPECT_EQ(report.bad, 0u) << report.first_bad;
    add(sum, report);
  }
  std::printf("%llu states, %llu of them different, %llu bad\n", static_cast<unsigned long long>(sum.states),
              static_cast<unsigned long long>(sum.distinct), static_cast<unsigned long long>(sum.bad));
  EXPECT_GT(sum.states, test::afforded(10'000));
}

TEST(StagedPowerCut, SyncsThatAreSwallowedAreFound) {
  if (test::kEffortPercent < 100)
    GTEST_SKIP() << "a search for what is lost; sanitizers look for other things";
  for (const char* folder : {"packs/", "manifests/"}) {
    const auto ops = log_of([folder](DiskCall call, const std::string& path) {
      return Fault{.is_swallowed = call == DiskCall::kSync && path.starts_with(folder)};
    });
    EXPECT_GT(check_crashes({.ops = ops, .chances_a_cut = 20}, judge).bad, 0u) << folder;
  }
}

// One refusal at each call. The save is tried again from the slot: no save is missed, and no later power cut
// loses a promised checkpoint.
TEST(StagedFaults, ARefusalCostsNoSave) {
  std::uint64_t calls = 0;
  static_cast<void>(log_of([&](DiskCall, const std::string&) {
    ++calls;
    return Fault{};
  }));
  CrashReport sum;
  std::uint64_t missed_of_all = 0;
  for (std::uint64_t bad = 1; bad <= calls; bad += test::kEffortPercent == 100 ? 1 : 10) {
    std::uint64_t call = 0;
    std::uint64_t missed = 0;
    const auto ops = log_of(
        [&](DiskCall, const std::string&) {
          if (++call != bad) return Fault{};
          return Fault{.error = Error(ErrorKind::kIo, "refused"), .does_it_all_the_same = bad % 2 == 0};
        },
        &missed);
    missed_of_all += missed;
    if (bad % 8 > 1) continue;  // with and without an effect
    const CrashReport report = check_crashes({.ops = ops, .chances_a_cut = 0}, judge);
    EXPECT_EQ(report.bad, 0u) << "call " << bad << ": " << report.first_bad;
    add(sum, report);
  }
  EXPECT_EQ(missed_of_all, 0u);
  std::printf("%llu calls refused, %llu states, %llu bad\n", static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(sum.states), static_cast<unsigned long long>(sum.bad));
}

}  // namespace
}  // namespace ratoon::checkpoint::staged_crash_test
