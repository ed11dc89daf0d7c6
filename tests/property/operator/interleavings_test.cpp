// Every order of events in a small world, each state visited once. A broken law is reported with the shortest
// story that was found on the way to it.
//   RATOON_FAULTS=3 interleavings_test                   other bounds; a job beside another one
//   RATOON_FAULTS=2 RATOON_JOBS=2 interleavings_test     both jobs
#include <cstdlib>
#include <functional>
#include <iostream>
#include <unordered_map>

#include <gtest/gtest.h>

#include "tests/property/operator/environment.h"
#include "tests/property/operator/small_world.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::interleavings_test {
namespace {

constexpr std::uint64_t kSteps = 2;                       // with a checkpoint each; of two jobs one each
constexpr Duration kCalmMax = std::chrono::seconds(150);  // in which all jobs reach their end

// The search is depth first: the path is the story. A state that recurs on its own path is a cycle without
// time, and a state from which no event leads to an end is a dead end; both are faults.
class Search {
 public:
  // Visits each state once.
  explicit Search(std::function<void(const SmallWorld&)> witness = {}) : witness_(std::move(witness)) {}

  void look(const SmallWorld& begin) {
    path_.push_back(open(begin, {Event::Kind::kTime}));
    while (!path_.empty() && complaint_.empty()) {
      Visit& top = path_.back();
      if (top.next == top.events.size()) {
        is_open_[top.print] = false;
        path_.pop_back();
        continue;
      }
      const Event event = top.events[top.next++];
      const std::uint64_t from = top.print;
      SmallWorld world = top.world.after(event);
      ++transitions_;
      visit(world, event, from);
    }
  }

  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::uint64_t states() const { return is_open_.size(); }
  [[nodiscard]] std::uint64_t transitions() const { return transitions_; }
  [[nodiscard]] std::uint64_t ends() const { return ends_; }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] bool has_met(const SmallWorld& world) const { return is_open_.contains(world.fingerprint()); }

 private:
  struct Visit {
    SmallWorld world;
    Event how;
    std::uint64_t print;
    std::vector<Event> events;
    std::size_t next = 0;
  };

  Visit open(const SmallWorld& world, const Event& how) {
    const std::uint64_t print = world.fingerprint();
    is_open_[print] = true;
    ends_ += world.is_over() ? 1 : 0;
    if (witness_) witness_(world);
    return {.world = world, .how = how, .print = print, .events = world.next()};
  }

  void visit(const SmallWorld& world, const Event& event, std::uint64_t from) {
    if (!world.broken().empty()) return tell(world, event, world.broken());
    if (world.calm() > kCalmMax) return tell(world, event, "not over long after the last fault");
    const std::uint64_t print = world.fingerprint();
    const auto known = is_open_.find(print);
    if (known == is_open_.end()) {
      path_.push_back(open(world, event));
      depth_ = std::max(depth_, path_.size());
      return;
    }
    if (known->second && print != from && !event.is_fault()) tell(world, event, "it turns in a circle");
  }

  void tell(const SmallWorld& world, const Event& event, const std::string& what) {
    complaint_ = what + "\n";
    for (const Visit& visit : path_) complaint_ += SmallWorld::describe(visit.how) + "\n";
    complaint_ += SmallWorld::describe(event) + "\n" + path_.back().world.describe() + world.describe();
  }

  std::function<void(const SmallWorld&)> witness_;
  std::vector<Visit> path_;
  std::unordered_map<std::uint64_t, bool> is_open_;  // whether it is on the path
  std::uint64_t transitions_ = 0;
  std::uint64_t ends_ = 0;
  std::size_t depth_ = 0;
  std::string complaint_;
};

void expect_nothing_broken(const Search& search, const std::string& what) {
  std::cout << search.states() << " states of " << what << ", " << search.transitions() << " transitions, "
            << search.ends() << " ends; the longest story has " << search.depth() << " events\n";
  EXPECT_EQ(search.complaint(), "");
  EXPECT_GT(search.ends(), 0U);
}

void look_at_both(std::uint32_t faults) {
  Search search;
  search.look(SmallWorld(2, faults, 1));
  expect_nothing_broken(search, "2 jobs, " + std::to_string(faults) + " faults");
}

TEST(Interleavings, NoneBreaksALawOfAJobBesideAnother) {
  constexpr std::uint32_t kFaults = test::kEffortPercent == 100 ? 2 : 1;
  const auto faults = static_cast<std::uint32_t>(number_from_environment("RATOON_FAULTS", kFaults));
  if (number_from_environment("RATOON_JOBS", 1) == 2) return look_at_both(faults);
  Search search;
  search.look(SmallWorld(1, faults, kSteps, SmallWorld::Beside::kNeighbour));
  expect_nothing_broken(search, "a job beside another, " + std::to_string(faults) + " faults");
  if (faults >= 2) {
    EXPECT_GT(search.states(), 100'000U) << "few: look at SmallWorld::next()";
  }
}

// Results for a job beside another therefore hold for both of two jobs.
TEST(Interleavings, EachStateOfTwoJobsIsOneOfAJobBesideAnother) {
  constexpr std::uint32_t kFaults = test::kEffortPercent == 100 ? 1 : 0;
  const auto faults = static_cast<std::uint32_t>(number_from_environment("RATOON_FAULTS", kFaults));
  Search beside;
  beside.look(SmallWorld(1, faults, 1, SmallWorld::Beside::kNeighbour));
  std::uint64_t seen = 0;
  std::string unknown;
  Search both([&](const SmallWorld& world) {
    if (world.is_first_over() || !unknown.empty()) return;
    ++seen;
    if (!beside.has_met(world.of_first_job())) unknown = world.describe();
  });
  both.look(SmallWorld(2, faults, 1));
  expect_nothing_broken(both, "2 jobs, " + std::to_string(faults) + " faults");
  EXPECT_EQ(unknown, "");
  EXPECT_GT(seen, 0U);
}

}  // namespace
}  // namespace ratoon::sim::interleavings_test
