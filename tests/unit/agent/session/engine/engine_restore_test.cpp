// A checkpoint that another rank has seen, on a machine that sees it late.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "tests/support/engine_rank.h"

namespace ratoon::engine_restore_test {
namespace {

using namespace std::chrono_literals;
using session::WorldStatus;
using test::kAttempt;
using test::TestRank;

class EngineRestore : public test::RanksTest {
 protected:
  EngineRestore() {
    TestRank before(folder_.path(), 0, 1);
    before.begin(100);
    before.steps(10);
    const auto saved = before.store().inventory().value().complete.front();
    point_ = {.attempt = saved.attempt, .step = saved.step, .digest = saved.digest};
    manifest_ = folder_ / checkpoint::manifest_path({.attempt = saved.attempt, .step = saved.step});
    hidden_ = folder_ / "not seen yet";
  }
  TestRank next() { return TestRank(folder_.path(), 0, 1, point_, Attempt(kAttempt + 1)); }
  void hide() const { std::filesystem::rename(manifest_, hidden_); }
  void show() const { std::filesystem::rename(hidden_, manifest_); }

  ResumePoint point_;
  std::filesystem::path manifest_;
  std::filesystem::path hidden_;
};

TEST_F(EngineRestore, ACheckpointThatIsSeenLateIsWaitedFor) {
  TestRank late = next();
  hide();
  int looks = 0;
  late.link.on_note = [&] {
    if (++looks == 3) show();
  };
  late.begin(100);
  EXPECT_EQ(late.sum, 45U);
  EXPECT_EQ(late.engine().step(), Step(10));
}

TEST_F(EngineRestore, OneThatIsNotSeenWithinAMinuteIsPassedOver) {
  TestRank late = next();
  hide();
  late.link.look_takes = 31s;
  EXPECT_THROW(late.begin(100), CheckpointUnreadable);
}

// Its manifest is there: a pack that is missing now is lost.
TEST_F(EngineRestore, OneThatIsDamagedIsPassedOverAtOnce) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
    if (entry.path().extension() == ".safetensors") std::filesystem::remove(entry.path());
  TestRank late = next();
  int looks = 0;
  late.link.on_note = [&] { ++looks; };
  EXPECT_THROW(late.begin(100), CheckpointUnreadable);
  EXPECT_EQ(looks, 0) << "it is not waited for";
}

TEST_F(EngineRestore, TheWaitEndsWithTheWorld) {
  TestRank late = next();
  hide();
  late.link.on_note = [&] { late.link.said = WorldStatus::kWorldChanged; };
  try {
    late.begin(100);
    ADD_FAILURE() << "it goes on in a world that is over";
  } catch (const CheckpointUnreadable&) {
    ADD_FAILURE() << "the checkpoint is given up, and nothing is wrong with it";
  } catch (const Interrupted&) {
  }
}

}  // namespace
}  // namespace ratoon::engine_restore_test
