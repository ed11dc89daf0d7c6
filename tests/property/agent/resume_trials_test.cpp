// Runs that are killed and continue in worlds of other sizes, thousands of them, with changes of the plan in
// between. A failure names its seed:
//   RATOON_SEED=17 resume_trials_test          runs that one alone
//   RATOON_SEEDS=1000000 resume_trials_test    digs deeper, from RATOON_FIRST_SEED on
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <ratoon/counter_random.h>
#include <ratoon/stream.h>

#include "tests/support/crash/effort.h"

namespace ratoon::resume_trials_test {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  std::from_chars(text, text + std::strlen(text), otherwise);
  return otherwise;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed, "resume trials") {}
  std::uint64_t from_to(std::uint64_t least, std::uint64_t most) {
    return least + random_.below(most - least + 1);
  }
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  std::uint64_t any() { return random_.next_u64(); }
  // Of every magnitude.
  std::uint64_t size_up_to(std::uint64_t bits) { return from_to(1, std::uint64_t{1} << from_to(0, bits)); }

 private:
  CounterRandom random_;
};

StreamOptions any_options(Dice& dice) {
  StreamOptions options{.global_batch = dice.size_up_to(6), .seed = dice.any()};
  const bool is_mixture = dice.one_in(50);  // a mixture's blocks cost more than all the rest of a trial
  for (std::uint64_t i = 0; i < (is_mixture ? 3 : 1); ++i) {
    Source source{.name = "source " + std::to_string(i)};
    for (std::uint64_t shard = dice.from_to(1, 9); shard > 0; --shard)
      source.shards.push_back(dice.size_up_to(13));
    source.weight = static_cast<double>(dice.from_to(i == 0 ? 1 : 0, 4));
    options.sources.push_back(source);
  }
  if (dice.one_in(3)) options.order = SampleOrder::kBlocks;
  if (dice.one_in(10)) options.order = SampleOrder::kInOrder;
  options.window_shards = dice.from_to(1, 4);
  if (!is_mixture && dice.one_in(3)) options.epoch_end = dice.one_in(2) ? EpochEnd::kShort : EpochEnd::kDrop;
  if (options.epoch_end == EpochEnd::kDrop)
    options.global_batch =
        std::min(options.global_batch, Stream({.global_batch = 1, .sources = options.sources}).epoch_slots());
  return options;
}

// The action of the program before a batch.
struct Change {
  std::uint64_t global_batch = 0;
  std::uint64_t skipped = 0;
  std::vector<double> weights;
};

// Mostly none.
std::vector<Change> any_changes(Dice& dice, const Stream& stream, const StreamOptions& options) {
  std::vector<Change> changes;
  for (bool is_more = dice.one_in(8); is_more; is_more = dice.one_in(2)) {
    Change& change = changes.emplace_back();
    switch (dice.from_to(0, 2)) {
      case 0:
        change.global_batch = std::min(dice.size_up_to(6), stream.epoch_slots());
        break;
      case 1:
        change.skipped = dice.size_up_to(8);
        break;
      default:
        for (std::size_t i = 0; i < options.sources.size(); ++i)
          change.weights.push_back(static_cast<double>(dice.from_to(i == 0 ? 1 : 0, 4)));
    }
  }
  return changes;
}

void change(const std::vector<Change>& changes, Stream& stream) {
  for (const Change& each : changes) {
    if (each.global_batch != 0) stream.change_global_batch(each.global_batch);
    if (each.skipped != 0) stream.skip_to(stream.cursor() + each.skipped);
    if (!each.weights.empty()) stream.change_weights(each.weights);
  }
}

// The run according to its checkpoints.
struct History {
  std::vector<std::vector<Change>> changes;  // before each batch
  std::vector<Slot> slots;
  std::string state;
};

// All ranks of a world, in one step: the samples that they take together. One of the ranks is a Stream of its
// own.
void step_of_world(Dice& dice, std::uint32_t world, Stream& of_one, Stream& of_others, History& run) {
  const auto one = static_cast<std::uint32_t>(dice.from_to(0, world - 1));
  const StreamReader reader = of_others.reader();
  const SlotRange batch = of_others.next_batch();
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    std::vector<Slot> share(share_of(batch, rank, world).size());
    reader.fill(share_of(batch, rank, world).first, share);
    if (rank == one) {
      ASSERT_EQ(of_one.take(rank, world), share);
    }
    run.slots.insert(run.slots.end(), share.begin(), share.end());
  }
  of_others.advance();
}

// A world of any size continues from the last checkpoint, makes some steps, and is killed.
void live_and_die(Dice& dice, const StreamOptions& options, History& committed) {
  const auto world = static_cast<std::uint32_t>(dice.from_to(1, 64));
  Stream of_one(options);
  Stream of_others(options);
  of_one.load_state(committed.state);
  of_others.load_state(committed.state);
  ASSERT_EQ(of_one.save_state(), committed.state);
  History run = committed;
  for (std::uint64_t steps = dice.from_to(0, 4); steps > 0; --steps) {
    run.changes.push_back(any_changes(dice, of_others, options));
    change(run.changes.back(), of_one);
    change(run.changes.back(), of_others);
    ASSERT_NO_FATAL_FAILURE(step_of_world(dice, world, of_one, of_others, run));
    if (!dice.one_in(2)) continue;
    run.state = of_one.save_state();
    ASSERT_EQ(run.state, of_others.save_state());
    committed = run;
  }
}

void expect_each_once(const History& history) {
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> seen;
  for (const Slot& slot : history.slots) seen.emplace_back(slot.source, slot.epoch, slot.sample);
  std::sort(seen.begin(), seen.end());
  ASSERT_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end()) << "a sample twice in an epoch";
}

void live_through(std::uint64_t seed) {
  Dice dice(seed);
  const StreamOptions options = any_options(dice);
  History committed{.changes = {}, .slots = {}, .state = Stream(options).save_state()};
  for (std::uint64_t worlds = dice.from_to(1, options.sources.size() == 1 ? 8 : 3); worlds > 0; --worlds)
    ASSERT_NO_FATAL_FAILURE(live_and_die(dice, options, committed));

  Stream unbroken(options);
  std::vector<Slot> slots;
  for (const std::vector<Change>& changes : committed.changes) {
    change(changes, unbroken);
    for (const Slot& slot : unbroken.take(0, 1)) slots.push_back(slot);
  }
  ASSERT_EQ(unbroken.save_state(), committed.state);
  ASSERT_TRUE(slots == committed.slots) << "not the samples of the run that was never killed";
  expect_each_once(committed);
  // The checkpoint alone determines the samples of each batch.
  Stream audited(options);
  audited.load_state(committed.state);
  std::vector<Slot> again;
  for (std::uint64_t k = 0; k < audited.batches(); ++k) {
    const SlotRange batch = audited.reader().batch(k);
    for (std::uint64_t slot = batch.first; slot < batch.last; ++slot) again.push_back(audited.at(slot));
  }
  ASSERT_TRUE(again == committed.slots);
}

TEST(ResumeTrials, TheCommittedHistoryIsThatOfARunThatWasNeverKilled) {
  if (const auto seed = number_from_environment("RATOON_SEED", 0); seed != 0) return live_through(seed);
  const std::uint64_t seeds = number_from_environment("RATOON_SEEDS", test::afforded(10'000));
  const std::uint64_t first = number_from_environment("RATOON_FIRST_SEED", 1);
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t trials = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed, ++trials) {
    SCOPED_TRACE("RATOON_SEED=" + std::to_string(seed));
    live_through(seed);
    if (HasFatalFailure()) return;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%llu trials in %.1f s\n", static_cast<unsigned long long>(trials), took.count());
}

}  // namespace
}  // namespace ratoon::resume_trials_test
