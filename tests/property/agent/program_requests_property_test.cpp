// Requests of a program (saves, saves that are kept, the end) on random worlds: with any losses, hand-overs
// and changes of size, the run decides as its unbroken run does.
#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/session/engine/control_word.h"
#include "tests/support/engine_rank.h"

namespace ratoon::program_requests_property_test {
namespace {

namespace gen = rc::gen;

const std::string kEnough = "enough";
const std::string kLowLoss = "a low loss";

struct Request {
  enum class Kind { kSave, kKeep, kFinish };
  Kind kind = Kind::kSave;
  std::uint32_t maker = 0;  // of the ranks that there are
  bool is_late = false;     // asked for once the word of the step was made
};

// The same decisions on every rank and in every attempt: step by step, counted from 1.
struct Program {
  std::uint64_t total = 1;
  std::uint64_t save_every = 1;
  std::map<std::uint64_t, std::vector<Request>> requests;
};

struct Decisions {
  std::uint64_t end = 0;
  std::set<std::uint64_t> saved;
  std::set<std::uint64_t> pinned;
  std::set<std::string> reasons;  // of pins, and of the end
};

// The event of the world in the current step.
enum class Fate {
  kGoesOn,
  kIsLostBefore,  // no rank ends the step
  kIsLostWithin,  // some do, and some die
  kIsLostAfter,   // all do
  kIsHandedOver,
};

Decisions unbroken(const Program& program) {
  Decisions decided{.end = program.total, .saved = {}, .pinned = {}, .reasons = {}};
  for (const auto& [step, requests] : program.requests)
    for (const Request& request : requests)
      if (request.kind == Request::Kind::kFinish) decided.end = std::min(decided.end, step + 1);
  for (std::uint64_t step = program.save_every; step <= decided.end; step += program.save_every)
    decided.saved.insert(step);
  decided.saved.insert(decided.end);
  for (const auto& [step, requests] : program.requests) {
    if (step > decided.end) continue;
    const std::uint64_t takes_effect = std::min(step + 1, decided.end);  // the last step has no next one
    for (const Request& request : requests) {
      if (request.kind != Request::Kind::kFinish) decided.saved.insert(takes_effect);
      if (request.kind == Request::Kind::kKeep) {
        decided.pinned.insert(takes_effect);
        decided.reasons.insert(kLowLoss);
      }
      // In the last step a request to end has no effect.
      if (request.kind == Request::Kind::kFinish && step < decided.end) decided.reasons.insert(kEnough);
    }
  }
  return decided;
}

class World {
 public:
  World(const std::filesystem::path& folder, const Program& program) : folder_(folder), program_(program) {}

  void form(std::uint32_t size) {
    ranks_.clear();
    const auto inventory = checkpoint::RunStore::open(folder_).value().inventory().value();
    std::optional<ResumePoint> resume;
    if (!inventory.complete.empty()) {
      const auto& newest = inventory.complete.front();
      resume = ResumePoint{newest.attempt, newest.step, newest.digest};
    }
    ++attempt_;
    for (std::uint32_t number = 0; number < size; ++number) {
      ranks_.push_back(std::make_unique<test::TestRank>(folder_, number, size, resume, Attempt(attempt_),
                                                        Every::steps(program_.save_every)));
      ranks_.back()->begin(program_.total);
    }
  }

  // Whether the attempt goes on.
  bool step(Fate fate) {
    const std::uint64_t number = step_number();
    request(number, false);
    std::uint32_t agreed = fate == Fate::kIsHandedOver ? session::control::kLeave : 0;
    for (const auto& rank : ranks_) agreed |= rank->engine().requests();
    for (const auto& rank : ranks_) rank->engine().agree(agreed);
    request(number, true);
    if (fate == Fate::kIsLostBefore) return false;
    if (fate == Fate::kIsHandedOver) return hand_over(number);
    // Ranks may act in any order: any rank may remain when others are lost, and any rank may commit.
    std::vector<std::size_t> order(ranks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::rotate(order, order.begin() + *gen::inRange<std::ptrdiff_t>(0, std::ssize(order)));
    if (fate == Fate::kIsLostWithin) order.resize(*gen::inRange<std::size_t>(0, order.size()));
    for (const std::size_t rank : order) ranks_[rank]->step();
    note_saved();
    return fate == Fate::kGoesOn;
  }

  [[nodiscard]] bool is_done() const { return ranks_.front()->engine().is_done(); }
  // All of its ranks wait for the last commit, as train() does.
  void finish() {
    std::vector<std::future<void>> ending;
    for (const auto& rank : ranks_)
      ending.push_back(std::async(std::launch::async, [&rank] { rank->engine().finish(); }));
    for (auto& rank : ending) rank.get();
    note_saved();
    decided_.end = ranks_.front()->engine().step().value();
    const auto pinned = checkpoint::list_pinned(*disk()).value();
    for (const auto& id : pinned) {
      decided_.pinned.insert(id.step.value());
      decided_.reasons.insert(checkpoint::pin_reason(*disk(), id));
    }
    const auto newest = checkpoint::RunStore::open(folder_).value().inventory().value().complete.front();
    const auto last = checkpoint::read_manifest(*disk(), checkpoint::id_of(newest)).value().manifest;
    if (last.run->early_end) decided_.reasons.insert(last.run->early_end->reason);
  }

  [[nodiscard]] const Decisions& decided() const { return decided_; }
  [[nodiscard]] const std::set<std::uint64_t>& handed_over() const { return handed_over_; }

 private:
  [[nodiscard]] std::uint64_t step_number() const { return ranks_.front()->engine().step().value() + 1; }
  [[nodiscard]] std::shared_ptr<checkpoint::Disk> disk() const {
    return checkpoint::RealDisk::open_folder(folder_).value();
  }

  void request(std::uint64_t step, bool is_late) {
    const auto found = program_.requests.find(step);
    if (found == program_.requests.end()) return;
    for (const Request& request : found->second) {
      if (request.is_late != is_late) continue;
      auto& maker = ranks_[request.maker % ranks_.size()]->engine();
      if (request.kind == Request::Kind::kFinish)
        maker.finish_early(kEnough);
      else
        static_cast<void>(maker.ask_to_save(request.kind == Request::Kind::kKeep ? kLowLoss : ""));
    }
  }

  // All wait for the commit at the same time.
  bool hand_over(std::uint64_t step) {
    handed_over_.insert(step);
    std::vector<std::future<void>> leaving;
    for (const auto& rank : ranks_)
      leaving.push_back(std::async(std::launch::async, [&rank] { rank->step(); }));
    bool is_left = false;
    for (auto& rank : leaving) {
      try {
        rank.get();
      } catch (const Interrupted&) {
        is_left = true;
      }
    }
    note_saved();
    return !is_left;
  }

  void note_saved() {
    for (const std::uint64_t step : ranks_.front()->committed()) decided_.saved.insert(step);
  }

  const std::filesystem::path folder_;
  const Program& program_;
  std::vector<std::unique_ptr<test::TestRank>> ranks_;
  std::uint64_t attempt_ = 0;
  Decisions decided_;
  std::set<std::uint64_t> handed_over_;
};

Program any_program() {
  Program program{.total = *gen::inRange<std::uint64_t>(2, 16),
                  .save_every = *gen::inRange<std::uint64_t>(1, 6),
                  .requests = {}};
  for (int i = *gen::inRange(0, 5); i > 0; --i) {
    const std::uint64_t step = *gen::inRange<std::uint64_t>(1, program.total + 1);
    program.requests[step].push_back(
        {.kind = *gen::weightedElement<Request::Kind>(
             {{3, Request::Kind::kKeep}, {2, Request::Kind::kSave}, {1, Request::Kind::kFinish}}),
         .maker = *gen::inRange<std::uint32_t>(0, 4),
         .is_late = *gen::arbitrary<bool>()});
  }
  return program;
}

std::uint32_t any_size() {
  return *gen::element<std::uint32_t>(1, 2, 4);
}

RC_GTEST_PROP(Wishes, AreDecidedAsInTheUnbrokenRun, ()) {
  const Program program = any_program();
  const test::TemporaryFolder folder;
  World world(folder.path(), program);
  world.form(any_size());
  int losses = *gen::inRange(0, 6);
  while (!world.is_done()) {
    const auto fate = losses == 0 ? Fate::kGoesOn
                                  : *gen::weightedElement<Fate>({{6, Fate::kGoesOn},
                                                                 {1, Fate::kIsLostBefore},
                                                                 {1, Fate::kIsLostWithin},
                                                                 {1, Fate::kIsLostAfter},
                                                                 {1, Fate::kIsHandedOver}});
    if (world.step(fate)) continue;
    --losses;
    world.form(any_size());
  }
  world.finish();
  const Decisions expected = unbroken(program);
  RC_ASSERT(world.decided().end == expected.end);
  RC_ASSERT(world.decided().pinned == expected.pinned);
  RC_ASSERT(world.decided().reasons == expected.reasons);
  for (const std::uint64_t step : expected.saved) RC_ASSERT(world.decided().saved.contains(step));
  for (const std::uint64_t step : world.decided().saved)
    RC_ASSERT(expected.saved.contains(step) || world.handed_over().contains(step));
}

}  // namespace
}  // namespace ratoon::program_requests_property_test
