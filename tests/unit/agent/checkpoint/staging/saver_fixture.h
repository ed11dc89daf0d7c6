// A saver on a disk in memory: the test holds its syncs behind a gate, and refuses the given number of them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/model_disk.h"
#include "tests/unit/agent/checkpoint/staging/gate.h"

namespace ratoon::checkpoint::saver_fixture {

using test::DiskCall;
using test::Fault;

inline constexpr auto kSoon = std::chrono::minutes(2);  // of waits that end much earlier, or the test fails

// Each test runs unchanged, and with a limit at which small packs are also written while they are copied.
class SaverTest : public testing::TestWithParam<bool> {
 protected:
  SaverTest() {
    disk_->set_faults([gate = gate_, refused = refused_](DiskCall call, const std::string& path) {
      if (path.starts_with("packs/a") && call == DiskCall::kSync) gate->pass();
      const bool is_refused = call == DiskCall::kSync && path.starts_with("packs/a") && *refused > 0;
      if (!is_refused) return Fault{};
      --*refused;
      return Fault{.error = Error(ErrorKind::kIo, "the disk refuses")};
    });
  }
  Saver open(SaverOptions options = {.pause = std::chrono::milliseconds(1)}) {
    if (GetParam()) options.write_while_copying_bytes_min = 0;
    auto saver = Saver::open(disk_, "mark", std::make_shared<SystemClock>(), options).value();
    saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
    return saver;
  }
  // The bytes in memory at a step.
  Result<SavePromise> save(Saver& saver, std::uint64_t step) {
    weights_.assign(100'000, static_cast<char>(step));
    const TensorView views[] = {
        {.name = "weights", .shape = {weights_.size()}, .bytes = std::as_bytes(std::span(weights_))}};
    auto ticket = saver.save(Step(step), views);
    weights_.assign(100'000, 'x');  // training goes on
    return ticket;
  }
  void expect_on_disk(std::uint64_t step) {
    const auto store = RunStore::open(disk_, "reader").value();
    const CheckpointId id{.attempt = Attempt(1), .step = Step(step)};
    const auto entry = store.find(id);
    ASSERT_TRUE(entry && *entry) << step;
    const auto loaded =
        store.load({.attempt = id.attempt, .step = id.step, .digest = (*entry)->digest}, Rank(0));
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(loaded->at("weights").bytes, std::string(100'000, static_cast<char>(step)));
  }
  static SaveProgress settled(Saver& saver) {
    EXPECT_TRUE(saver.wait_until_written(kSoon));
    return saver.poll();
  }

  const std::shared_ptr<test::ModelDisk> disk_ = std::make_shared<test::ModelDisk>();
  const std::shared_ptr<test::Gate> gate_ = std::make_shared<test::Gate>();
  const std::shared_ptr<std::atomic<int>> refused_ = std::make_shared<std::atomic<int>>(0);
  std::string weights_;
};

}  // namespace ratoon::checkpoint::saver_fixture
