#include "agent/src/session/state/best_checkpoints.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <gmock/gmock.h>

namespace ratoon::session::best_checkpoints_test {
namespace {

using checkpoint::BestCheckpoint;
using testing::HasSubstr;

checkpoint::CheckpointId at(std::uint64_t step) {
  return {.attempt = Attempt(1), .step = Step(step)};
}

std::vector<BestCheckpoint> kept(const BestCheckpoints& best, const std::string& name) {
  for (const auto& list : best.lists())
    if (list.name == name) return list.kept;
  return {};
}

bool note(BestCheckpoints& best, std::string_view name, double value, const KeepBest& how,
          const std::set<std::uint64_t>& missing = {}) {
  return best.note_value(name, value, how, [&](const auto& id) { return missing.contains(id.step.value()); });
}

// The first ones, which a place keeps.
std::vector<BestCheckpoint> first(const std::vector<BestCheckpoint>& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), count))};
}

// The oracle sorts all values of the run so far.
TEST(BestCheckpoints, AreTheFirstOfAllValuesInOrderAlsoAfterResumes) {
  std::mt19937 dice(7);
  for (int run = 0; run < 200; ++run) {
    const KeepBest how{.keep = static_cast<std::uint32_t>(1 + dice() % 4),
                       .is_lower_better = dice() % 2 == 0};
    BestCheckpoints best;
    std::vector<BestCheckpoint> all;
    for (std::uint64_t step = 1; step <= 30; ++step) {
      const double value = static_cast<double>(dice() % 9) - 4;
      all.push_back({.id = at(step), .value = value});
      std::ranges::stable_sort(all, [&](const BestCheckpoint& a, const BestCheckpoint& b) {
        return how.is_lower_better ? a.value < b.value : a.value > b.value;
      });
      all.resize(std::min<std::size_t>(all.size(), how.keep));
      const bool is_among = std::ranges::find(all, at(step), &BestCheckpoint::id) != all.end();
      ASSERT_EQ(note(best, "loss", value, how), is_among) << "run " << run << " step " << step;
      ASSERT_EQ(best.is_due(), is_among);
      ASSERT_EQ(best.record_saved(at(step)).empty(), !is_among);
      ASSERT_EQ(first(kept(best, "loss"), how.keep), all) << "run " << run << " step " << step;
      if (dice() % 5 == 0) {
        BestCheckpoints later;
        later.resume(best.lists());
        best = std::move(later);
      }
    }
  }
}

TEST(BestCheckpoints, EachNameHasItsOwnListAndOnePinNamesAll) {
  BestCheckpoints best;
  EXPECT_TRUE(note(best, "loss", 0.5, {}));
  EXPECT_TRUE(note(best, "accuracy", 0.25, {.is_lower_better = false}));
  EXPECT_EQ(best.record_saved(at(10)), "best accuracy: 0.25, best loss: 0.5 (save_best)");
  EXPECT_FALSE(note(best, "loss", 0.5, {})) << "the earlier one of equal values stays";
  EXPECT_TRUE(note(best, "accuracy", 0.5, {.is_lower_better = false}));
  EXPECT_EQ(best.record_saved(at(20)), "best accuracy: 0.5 (save_best)");
  EXPECT_EQ(best.text(), "accuracy 0.5 at step 20, loss 0.5 at step 10");
}

TEST(BestCheckpoints, ValuesThatAreNotFiniteAreNotAmongThem) {
  BestCheckpoints best;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(note(best, "loss", value, {.keep = 2}));
  EXPECT_EQ(best.record_saved(at(1)), "");
}

TEST(BestCheckpoints, FewerAreKeptOnceTheProgramWantsFewer) {
  BestCheckpoints best;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    EXPECT_TRUE(note(best, "loss", static_cast<double>(step), {.keep = 3}));
    static_cast<void>(best.record_saved(at(step)));
  }
  EXPECT_FALSE(note(best, "loss", 2.5, {.keep = 2}));
  EXPECT_TRUE(note(best, "loss", 0.5, {.keep = 2}));
  static_cast<void>(best.record_saved(at(4)));
  EXPECT_EQ(best.lists().front().keep, 2u);
  EXPECT_EQ(first(kept(best, "loss"), 2), (std::vector<BestCheckpoint>{{at(4), 0.5}, {at(1), 1}}));
}

// Its save was missed: it beats none, and the one that it beat counts again.
TEST(BestCheckpoints, OneThatIsMissingCountsAsIfItHadNeverBeen) {
  BestCheckpoints best;
  EXPECT_TRUE(note(best, "loss", 0.5, {}));
  static_cast<void>(best.record_saved(at(10)));
  EXPECT_TRUE(note(best, "loss", 0.25, {}));
  static_cast<void>(best.record_saved(at(20)));
  EXPECT_FALSE(note(best, "loss", 0.375, {}));
  EXPECT_FALSE(note(best, "loss", 0.75, {}, {20}));
  EXPECT_TRUE(note(best, "loss", 0.375, {}));
  static_cast<void>(best.record_saved(at(30)));
  EXPECT_EQ(kept(best, "loss"), (std::vector<BestCheckpoint>{{at(30), 0.375}, {at(10), 0.5}}));
}

TEST(BestCheckpoints, WrongCallsAreNamed) {
  BestCheckpoints best;
  EXPECT_EQ(best.note_save_best_call("loss", {}), "");
  EXPECT_THAT(best.note_save_best_call("", {}), HasSubstr("a name has 1 to 64 bytes"));
  EXPECT_THAT(best.note_save_best_call("a\nb", {}), HasSubstr("printable"));
  EXPECT_THAT(best.note_save_best_call(std::string(65, 'a'), {}), HasSubstr("1 to 64 bytes"));
  EXPECT_THAT(best.note_save_best_call("loss", {.keep = 0}), HasSubstr("keep is 0, and may be 1 to 100"));
  EXPECT_THAT(best.note_save_best_call("loss", {}), HasSubstr("called twice in one step"));
  best.end_step();
  EXPECT_EQ(best.note_save_best_call("loss", {}), "");
  EXPECT_TRUE(note(best, "loss", 1, {}));
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(note(best, "loss" + std::to_string(i), 1, {}));
  EXPECT_THAT(best.note_save_best_call("one more", {}), HasSubstr("at most 16 names"));
}

}  // namespace
}  // namespace ratoon::session::best_checkpoints_test
