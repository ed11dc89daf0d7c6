#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/fd_closed_on_fork.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::unforked_fd_test {
namespace {

FdClosedOnFork opened(const std::filesystem::path& path) {
  return FdClosedOnFork(UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)));
}

// The result of `look` in a child that was forked.
template <class Look>
int in_a_child(const Look& look) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look() ? 1 : 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WEXITSTATUS(status);
}

class UnforkedFdTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

TEST_F(UnforkedFdTest, IsClosedInAChildAndStaysOpenHere) {
  const FdClosedOnFork kept = opened(folder_ / "a");
  const UniqueFd inherited(::open((folder_ / "b").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(in_a_child([&] { return kept.is_open() || ::fcntl(inherited.get(), F_GETFD) < 0; }), 0);
  EXPECT_GE(::fcntl(kept.get(), F_GETFD), 0);
}

TEST_F(UnforkedFdTest, SoItIsWhereverItWasMoved) {
  FdClosedOnFork first = opened(folder_ / "a");
  const int number = first.get();
  FdClosedOnFork moved = std::move(first);
  FdClosedOnFork last = opened(folder_ / "b");
  const int closed = last.get();
  last = std::move(moved);
  EXPECT_EQ(last.get(), number);
  EXPECT_LT(::fcntl(closed, F_GETFD), 0);
  EXPECT_EQ(in_a_child([&] { return last.is_open() || ::fcntl(number, F_GETFD) >= 0; }), 0);
}

TEST_F(UnforkedFdTest, OneThatIsGoneClosesNothingOfTheChild) {
  int number = -1;
  {
    const FdClosedOnFork gone = opened(folder_ / "a");
    number = gone.get();
  }
  const UniqueFd other(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, number));
  EXPECT_EQ(in_a_child([&] { return ::fcntl(other.get(), F_GETFD) < 0; }), 0);
}

TEST_F(UnforkedFdTest, ALockEndsWithItsHolderThoughAChildLives) {
  FdClosedOnFork held = opened(folder_ / "lock");
  ASSERT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  held = FdClosedOnFork();
  const FdClosedOnFork next = opened(folder_ / "lock");
  EXPECT_EQ(::flock(next.get(), LOCK_EX), 0) << "once the child has closed what it inherited";
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace ratoon::unforked_fd_test
