// Laws of a whole drain, from the news to the end of the process, by the clock of a model: any machine, any
// moment between two steps and two saves, and as much notice as clouds and batch systems give.
#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/counter_random.h>

#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/shutdown/drain.h"

namespace ratoon::session::drain_within_property_test {
namespace {

namespace gen = rc::gen;
using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// The durations of a step and a save; recent steps and saves took at most that time, and one of each exactly
// as long.
struct Machine {
  std::uint64_t state_bytes = 0;
  Duration step{0};
  Duration stall{0};  // of a save, for training
  Duration write{0};  // until it is durable, from when it is asked for
};

Machine any_machine() {
  const Duration stall = microseconds(*gen::inRange(100, 2'000'000));
  return {.state_bytes = *gen::inRange<std::uint64_t>(1, 20'000'000'000),
          .step = milliseconds(*gen::inRange(20, 5'000)),
          .stall = stall,
          .write = stall + milliseconds(*gen::inRange(1, 60'000))};
}

// The time that a save must be given: each part may be slower than before by at most half.
Duration full_save(const Machine& machine) {
  constexpr Duration kRounding = 1us;
  return machine.step + (machine.stall + machine.write) * 3 / 2 + kRounding;
}

struct Save {
  Timestamp began;
  Timestamp durable;
};

// One rank from the moment of the news on. From then on each of its steps takes the drawn part of a whole
// step, and its saves the drawn part of their former time.
class Rank {
 public:
  Rank(const Machine& machine, Duration notice, bool can_be_replaced, double of_measured)
      : machine_(machine),
        of_measured_(of_measured),
        drain_({.grace = notice, .can_be_replaced = can_be_replaced, .signal_counts = [this] {
                  return signals_;
                }}) {
    drain_.begin_attempt(machine.state_bytes);
    drain_.note_step(machine.step);
    drain_.note_save(now_ - 10s, machine.stall);
    drain_.note_commit(machine.write);
    if (*gen::arbitrary<bool>()) write();  // what was saved before the news
    signals_.terminate = {.count = 1, .first = now_};
  }

  void train_until_it_leaves() {
    while (!left) {
      now_ = now_ + machine_.step * (30 + static_cast<int>(chance_.next_u64() % 71)) / 100;
      look();
      const std::uint32_t requests = drain_.requests({}, now_);
      if (!heard) heard = now_;
      if ((requests & (control::kSave | control::kStop)) != 0) save();
      const bool is_stopped = (requests & control::kStop) != 0;
      if (is_stopped) now_ = std::max(now_, saves.back().durable);
      if (is_stopped || (requests & control::kStopWithoutSave) != 0 || drain_.find_exit_failure(now_, true))
        left = now_;
    }
  }

  static constexpr Timestamp kNews{1h};
  std::vector<Save> saves;
  std::optional<Timestamp> heard{};  // the end of the step in which the news came
  std::optional<Timestamp> left{};

 private:
  void save() {
    const Timestamp began = now_;
    now_ = now_ + scaled(machine_.stall);
    drain_.note_save(began, scaled(machine_.stall));
    write();
    saves.push_back({.began = began, .durable = written_});
  }
  void write() {
    drain_.note_staged(true);
    written_ = now_ + scaled(machine_.write - machine_.stall);
    is_writing_ = true;
  }
  void look() {
    if (!is_writing_ || now_ < written_) return;
    is_writing_ = false;
    drain_.note_commit(scaled(machine_.write));
    drain_.note_staged(false);
  }
  [[nodiscard]] Duration scaled(Duration took) const { return from_seconds(of_measured_ * seconds(took)); }

  const Machine machine_;
  const double of_measured_;
  CounterRandom chance_{*gen::arbitrary<std::uint64_t>(), "steps", 0, 0};
  SignalCounts signals_;
  Timestamp now_ = kNews;
  bool is_writing_ = false;
  Timestamp written_{};
  Drain drain_;
};

// A replacement may come until the end: the rank trains on until its margin. Otherwise it leaves with its
// last save, which is the newest save that was sure to end.
void check_drain(Duration notice) {
  const Machine machine = any_machine();
  const bool can_be_replaced = *gen::arbitrary<bool>();
  Rank rank(machine, notice, can_be_replaced, *gen::inRange(30, 101) / 100.0);
  rank.train_until_it_leaves();
  const Timestamp deadline = Rank::kNews + notice;
  for (const Save& save : rank.saves) RC_ASSERT(save.durable <= deadline);
  // The rank never leaves within a step.
  RC_ASSERT(*rank.left <= deadline + std::max(Duration(0), machine.step - preemption::kDeadlineMargin));

  const Duration full = full_save(machine);
  const Duration usable = deadline - *rank.heard - preemption::kDeadlineMargin;
  if (usable < full) return;
  RC_ASSERT(!rank.saves.empty());
  // Staged data, a save at once and a last save are sure to fit: then the last save is as late as possible.
  const bool has_room_for_all = usable > 3 * full;
  const Duration after_the_last = deadline - rank.saves.back().began - preemption::kDeadlineMargin;
  RC_ASSERT(after_the_last <= (has_room_for_all ? full + machine.step : 3 * full));
  if (can_be_replaced) RC_ASSERT(*rank.left >= deadline - preemption::kDeadlineMargin);
}

// The same if everything is half as slow again after the news: the work that was begun first is durable.
void check_slow_drain(Duration notice) {
  const Machine machine = any_machine();
  Rank rank(machine, notice, *gen::arbitrary<bool>(), 1.5);
  rank.train_until_it_leaves();
  const Timestamp deadline = Rank::kNews + notice;
  if (deadline - *rank.heard - preemption::kDeadlineMargin < full_save(machine)) return;
  RC_ASSERT(!rank.saves.empty());
  RC_ASSERT(rank.saves.front().durable <= deadline);
}

RC_GTEST_PROP(DrainOf5Seconds, EndsWhatItBeginsAndSavesTheNewestThatFits, ()) {
  check_drain(5s);
}
RC_GTEST_PROP(DrainOf15Seconds, EndsWhatItBeginsAndSavesTheNewestThatFits, ()) {
  check_drain(15s);
}
RC_GTEST_PROP(DrainOf30Seconds, EndsWhatItBeginsAndSavesTheNewestThatFits, ()) {
  check_drain(30s);
}
RC_GTEST_PROP(DrainOf120Seconds, EndsWhatItBeginsAndSavesTheNewestThatFits, ()) {
  check_drain(120s);
}
RC_GTEST_PROP(DrainOf5Seconds, HasSavedWhereAllIsHalfAsSlowAgain, ()) {
  check_slow_drain(5s);
}
RC_GTEST_PROP(DrainOf15Seconds, HasSavedWhereAllIsHalfAsSlowAgain, ()) {
  check_slow_drain(15s);
}
RC_GTEST_PROP(DrainOf30Seconds, HasSavedWhereAllIsHalfAsSlowAgain, ()) {
  check_slow_drain(30s);
}
RC_GTEST_PROP(DrainOf120Seconds, HasSavedWhereAllIsHalfAsSlowAgain, ()) {
  check_slow_drain(120s);
}

}  // namespace
}  // namespace ratoon::session::drain_within_property_test
