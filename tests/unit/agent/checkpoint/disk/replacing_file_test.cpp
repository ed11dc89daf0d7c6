// A file that appears when it is closed, and calls that do not wait for a disk that hangs.
#include "agent/src/checkpoint/disk/replacing_file.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/disk_with_timeout.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/checkpoint/staging/gate.h"

namespace ratoon::checkpoint::replacing_file_test {
namespace {

using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class ReplacingFileTest : public testing::Test {
 protected:
  ReplacingFileTest() { ratoon::test::write_text(path_, "old"); }
  std::unique_ptr<WriteFile> create() { return replace_with_timeout(path_, calls_).value(); }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }

  ratoon::test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "weights";
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<CallsWithTimeout> calls_ = std::make_shared<CallsWithTimeout>(1h, clock_);
};

TEST_F(ReplacingFileTest, IsThereWholeWhenItIsClosed) {
  const auto file = create();
  ASSERT_TRUE(file->write(0, bytes_of("ne")));
  EXPECT_FALSE(file->write(1, bytes_of("w"))) << "in order";
  ASSERT_TRUE(file->write(2, bytes_of("w")));
  EXPECT_EQ(ratoon::test::read_text(path_), "old");
  ASSERT_TRUE(file->close());
  EXPECT_EQ(ratoon::test::read_text(path_), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(ReplacingFileTest, LeavesNothingWhereItIsNotClosed) {
  ASSERT_TRUE(create()->write(0, bytes_of("new")));
  EXPECT_EQ(ratoon::test::read_text(path_), "old");
  EXPECT_EQ(files(), 1);
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(replace_with_timeout(path_, calls_).error().kind(), ErrorKind::kNotFound);
}

// Its last call to the disk is its end.
struct HangsAtItsEnd final : WriteFile {
  explicit HangsAtItsEnd(std::shared_ptr<ratoon::test::Gate> at) : gate(std::move(at)) {}
  ~HangsAtItsEnd() override { gate->pass(); }
  Result<void> reserve(std::uint64_t) override { return {}; }
  Result<void> write(std::uint64_t, std::span<const std::byte>) override { return {}; }
  Result<void> sync() override { return {}; }
  Result<void> close() override { return {}; }
  const std::shared_ptr<ratoon::test::Gate> gate;
};

TEST_F(ReplacingFileTest, WhoLetsGoOfAFileThatHangsDoesNotHangWithIt) {
  const auto gate = std::make_shared<ratoon::test::Gate>();
  gate->close();
  auto file = add_timeout(std::make_unique<HangsAtItsEnd>(gate), calls_, "a file");
  const std::jthread later([&] {
    gate->await_somebody();
    clock_->advance(2h);
  });
  file.reset();
  EXPECT_TRUE(calls_->was_abandoned()->load());
  gate->open();
}

}  // namespace
}  // namespace ratoon::checkpoint::replacing_file_test
