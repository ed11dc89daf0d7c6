// A replay buffer that is saved in parts, through failures and starts of a run.
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/counter_random.h>
#include <ratoon/session/values.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::train_parts_test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNumbers = 4 << 20;  // 32 MiB
constexpr std::size_t kNewNumbers = kNumbers / 100;

// The buffer after `steps` steps: each step puts new numbers after those of the step before.
void put(std::vector<std::uint64_t>& buffer, std::uint64_t step) {
  CounterRandom random(1, "numbers", step, 0);
  for (std::size_t i = 0; i < kNewNumbers; ++i)
    buffer[(step * kNewNumbers + i) % buffer.size()] = random.next_u64();
}
std::vector<std::uint64_t> buffer_after(std::uint64_t steps) {
  std::vector<std::uint64_t> buffer(kNumbers, 7);
  for (std::uint64_t step = 0; step < steps; ++step) put(buffer, step);
  return buffer;
}

std::uint64_t bytes_of_parts(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "parts"))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

class TrainPartsTest : public testing::Test {
 protected:
  TrainPartsTest() {
    options_.save_folder = (folder_ / "home").string();
    options_.stores = {"file://" + (folder_ / "store").string()};
    options_.keep_last = 2;
    options_.keep_last_in_stores = 2;
  }
  int train(std::uint64_t fails_in, std::uint64_t resumes_at, std::uint64_t steps = 40) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::vector<std::uint64_t> buffer(kNumbers, 7);
      session.track("replay", buffer, {.is_saved_in_parts = true});
      EXPECT_EQ(session.resumes_at(), resumes_at);
      for (const std::uint64_t step : session.steps(steps)) {
        if (step == resumes_at) {
          EXPECT_TRUE(buffer == buffer_after(step)) << "of step " << step;
        }
        if (step == fails_in) throw std::runtime_error("the test's own");
        put(buffer, step);
      }
      if (session.steps_done() == steps) {
        EXPECT_TRUE(buffer == buffer_after(steps));
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .member = {}};
  std::string said_;
};

TEST_F(TrainPartsTest, AResumeRestoresTheBufferAndRefersToItsParts) {
  EXPECT_EQ(train(27, 0), 1) << said_;
  const std::uint64_t before = bytes_of_parts(folder_ / "home/run");
  EXPECT_EQ(train(35, 20), 1) << said_;
  EXPECT_EQ(train(100, 30), 0) << said_;
  // 20 steps changed a fifth of the buffer. A save that wrote the whole buffer would double the bytes.
  EXPECT_LE(bytes_of_parts(folder_ / "home/run"), before + kNumbers * 8 / 4);
}

// The new folder gets all parts anew, and the store removes the older ones.
TEST_F(TrainPartsTest, AStoreAloneIsEnough) {
  EXPECT_EQ(train(100, 0, 20), 0) << said_;
  fs::remove_all(folder_ / "home");
  EXPECT_EQ(train(100, 20), 0) << said_;
  EXPECT_LE(bytes_of_parts(folder_ / "store/run"), kNumbers * 8 * 7 / 4);
}

// The folder keeps no checkpoint, and so no part to which a save could refer.
TEST_F(TrainPartsTest, AFolderThatKeepsNoCheckpointLosesNoSave) {
  options_.keep_last = 0;
  EXPECT_EQ(train(27, 0), 1) << said_;
  EXPECT_EQ(train(100, 20), 0) << said_;
  EXPECT_THAT(said_, testing::Not(testing::HasSubstr("missed")));
}

}  // namespace
}  // namespace ratoon::train_parts_test
