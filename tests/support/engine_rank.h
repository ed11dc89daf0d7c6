// Ranks whose engines have a link that gives the answers of a test.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/session/engine/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::test {

inline constexpr std::uint64_t kAttempt = 7;

// Time passes with each query of the engine to its surroundings.
class ScriptedLink final : public session::Link {
 public:
  Result<Assignment> join(const std::vector<InventoryEntry>&, Attempt) override {
    return Error(ErrorKind::kCancelled, "no world");
  }
  int listening_fd() const override { return 42; }
  std::string own_host() const override { return "10.0.0.7"; }
  void note_position(const session::ProcessReport& position) override {
    clock.advance(look_takes);
    if (on_note) on_note();
    if (milestones.empty() || milestones.back() != position.milestone)
      milestones.push_back(position.milestone);
    noted = position;
  }
  session::WorldStatus world_status() const override {
    return clock.now() < changes ? said : session::WorldStatus::kWorldChanged;
  }
  std::string reason() const override { return "because the test says so"; }
  session::ChangeSigns change_signs() const override { return signs; }
  session::CoordinatorRequests outside_requests() const override { return wants; }
  Result<void> complete(const session::ProcessReport&, const std::stop_token&) override { return {}; }

  ManualClock clock;
  Duration look_takes = std::chrono::milliseconds(1);
  std::function<void()> on_note;
  session::WorldStatus said = session::WorldStatus::kGoOn;
  Timestamp changes{Duration::max()};  // from then on the world is another
  session::ChangeSigns signs;
  session::CoordinatorRequests wants;
  session::ProcessReport noted;
  std::vector<session::Milestone> milestones;
};

// Work is done when it is queried, so that the results of a test do not depend on time.
inline checkpoint::Saver inline_saver(const std::filesystem::path& folder) {
  auto disk = checkpoint::RealDisk::open_folder(folder).value();
  return checkpoint::Saver::open(std::move(disk), random_hex_name(), std::make_shared<SystemClock>(),
                                 {.pause = {}, .has_writer_thread = false})
      .value();
}

// One rank: a sum over steps.
class TestRank {
 public:
  TestRank(const std::filesystem::path& folder, std::uint32_t rank, std::uint32_t world_size,
           std::optional<ResumePoint> resume = std::nullopt, Attempt attempt = Attempt(kAttempt),
           Every save_every = Every::steps(10))
      : options_{.save_folder = folder.string(),
                 .run_name = "",
                 .save_every = save_every,
                 .keep_last = 9,
                 .member = {}},
        store_(checkpoint::RunStore::open(folder).value()),
        places_(options_, borrowed(meters)),
        saver_(inline_saver(folder)),
        engine_({.options = options_,
                 .places = places_,
                 .saver = saver_,
                 .link = link,
                 .clock = link.clock,
                 .meters = meters},
                {.attempt = attempt,
                 .rank = Rank(rank),
                 .world_size = world_size,
                 .rendezvous = "[fd00::7]:29400",
                 .secret = "of attempt 7",
                 .resume = std::move(resume)}) {
    engine_.track(
        "sum", [this](StateWriter& out) { out.number("", sum); },
        [this](StateReader& in) { in.number("", sum); });
  }
  void begin(std::uint64_t total) { engine_.begin(Until::steps(total)); }
  void step(std::uint32_t agreed_of_all = 0) {
    sum += engine_.step().value();
    if (agreed_of_all != 0) engine_.agree(agreed_of_all);
    engine_.end_step();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  Session::Engine& engine() { return engine_; }
  const checkpoint::RunStore& store() const { return store_; }
  std::vector<std::uint64_t> committed() const {  // steps, newest first
    std::vector<std::uint64_t> steps;
    const auto inventory = store_.inventory().value();
    for (const auto& entry : inventory.complete) steps.push_back(entry.step.value());
    return steps;
  }

  ScriptedLink link;
  metrics::Meters meters;
  std::uint64_t sum = 0;

 private:
  const Options options_;
  const checkpoint::RunStore store_;
  session::CheckpointLocations places_;
  checkpoint::Saver saver_;
  Session::Engine engine_;
};

// In one folder.
class RanksTest : public testing::Test {
 protected:
  TestRank rank(std::uint32_t number, std::uint32_t world_size) {
    return TestRank(folder_.path(), number, world_size);
  }
  TemporaryFolder folder_;
};

}  // namespace ratoon::test
