#include "base/core/unique_fd.h"

#include <type_traits>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ratoon::unique_fd_test {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFd>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);

int open_null() {
  return ::open("/dev/null", O_RDWR | O_CLOEXEC);
}
bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

TEST(UniqueFd, ClosesWhenItGoes) {
  int raw = -1;
  {
    const UniqueFd fd(open_null());
    raw = fd.get();
    EXPECT_TRUE(fd.is_open());
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, MovesItsDescriptor) {
  UniqueFd first(open_null());
  const int raw = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): a moved-from UniqueFd is empty
  EXPECT_EQ(second.get(), raw);
  UniqueFd third(open_null());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_EQ(third.get(), raw);
  EXPECT_TRUE(is_open(raw));
}

TEST(UniqueFd, SurvivesBeingMovedToItself) {
  UniqueFd fd(open_null());
  UniqueFd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFd, ResetToTheSameDescriptorKeepsItOpen) {
  UniqueFd fd(open_null());
  fd.reset(fd.get());
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFd, ReleaseGivesTheDescriptorAway) {
  UniqueFd fd(open_null());
  const int raw = fd.release();
  fd.reset();
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST(UniqueFd, CloseReportsAndIsNotRepeated) {
  UniqueFd fd(open_null());
  EXPECT_TRUE(fd.close());
  EXPECT_FALSE(fd.is_open());
  EXPECT_TRUE(fd.close()) << "nothing is left to close";
}

TEST(UniqueFd, CloseReportsAnError) {
  constexpr int kNeverOpened = 1 << 20;
  UniqueFd fd(kNeverOpened);
  const Result<void> result = fd.close();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kIo);
  EXPECT_FALSE(fd.is_open());
}

}  // namespace
}  // namespace ratoon::unique_fd_test
