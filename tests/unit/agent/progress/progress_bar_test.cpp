// The output of the bar's descriptor.
#include <array>
#include <chrono>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ratoon/progress_bar.h>

#include "base/core/unique_fd.h"

namespace ratoon::progress_bar_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;

class Pipe {
 public:
  Pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    out_.reset(fds[0]);
    in_.reset(fds[1]);
  }
  [[nodiscard]] int fd() const { return in_.get(); }
  // All that was written since the last call.
  std::string read() {
    std::string text;
    std::array<char, 4096> bytes{};
    ssize_t count = 0;
    while ((count = ::read(out_.get(), bytes.data(), bytes.size())) > 0)
      text.append(bytes.data(), static_cast<std::size_t>(count));
    return text;
  }

 private:
  UniqueFd out_, in_;
};

TEST(ProgressBar, IsDrawnOverItself) {
  Pipe pipe;
  ProgressBar bar({.title = "t\x1b[2J", .total = 10, .begin_at = 4, .fd = pipe.fd(), .is_terminal = true});
  EXPECT_EQ(pipe.read(), "");
  const auto began = steady_clock::now();
  bar.show_loss(0.5);
  bar.show_durable(4);
  bar.update(5);
  const std::string drawn = pipe.read();
  EXPECT_THAT(drawn, StartsWith("\rt?[2J "));
  EXPECT_THAT(drawn, testing::AllOf(HasSubstr("50%"), HasSubstr("5/10"), HasSubstr("loss 0.5"),
                                    HasSubstr("durable 4"), testing::EndsWith("\x1b[K")));
  EXPECT_EQ(drawn.find('\n'), std::string::npos);
  bar.update(6);
  const std::string too_soon = pipe.read();
  if (steady_clock::now() - began < milliseconds(100)) {
    EXPECT_EQ(too_soon, "");
  }
  bar.clear();
  EXPECT_EQ(pipe.read(), "\r\x1b[K");
  bar.update(7);
  EXPECT_THAT(pipe.read(), HasSubstr("7/10"));
  bar.update(10);
  bar.finish();
  EXPECT_THAT(pipe.read(), testing::AllOf(HasSubstr("10/10"), testing::EndsWith("\n")));
  bar.finish();
  bar.update(11);
  bar.clear();
  EXPECT_EQ(pipe.read(), "");
}

TEST(ProgressBar, IsLinesWhereThereIsNoTerminal) {
  Pipe pipe;
  steady_clock::time_point drawn;
  {
    ProgressBar bar({.title = "digits", .total = 1000, .fd = pipe.fd()});
    const auto began = steady_clock::now();
    bar.update(1);
    EXPECT_THAT(pipe.read(), StartsWith("digits: step 1/1000"));
    for (std::uint64_t i = 2; i <= 900; ++i) bar.update(i);
    bar.clear();
    const std::string too_soon = pipe.read();
    if (steady_clock::now() - began < milliseconds(500)) {
      EXPECT_EQ(too_soon, "");
    }
    bar.resume_at(800);
    drawn = steady_clock::now();
    bar.update(801);
    EXPECT_THAT(pipe.read(), testing::AllOf(HasSubstr("801/1000"), HasSubstr("since step 800")));
    bar.update(1000);
  }
  const std::string last = pipe.read();
  EXPECT_THAT(last, HasSubstr("1000/1000 (100 %)"));
  if (steady_clock::now() - drawn < milliseconds(500)) {
    EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 1);
  }
}

TEST(ProgressBar, ADescriptorThatRefusesIsNoReasonToStop) {
  Pipe pipe;
  ProgressBar full({.total = 1'000'000, .fd = pipe.fd(), .is_terminal = true});
  for (int i = 0; i < 3000; ++i)
    full.clear(), full.update(static_cast<std::uint64_t>(i));  // more than a pipe holds
  EXPECT_GE(pipe.read().size(), 65'000u);
  ProgressBar closed({.total = 10, .fd = -1, .is_terminal = true});
  closed.update(1);
}

// The benchmark measures the cost of an update: nearly all updates draw nothing.
TEST(ProgressBar, ItIsDrawnAtMostTenTimesASecond) {
  Pipe pipe;
  const auto began = steady_clock::now();
  ProgressBar bar({.total = 1'000'000, .fd = pipe.fd(), .is_terminal = true});
  for (std::uint64_t i = 0; i < 100'000; ++i) bar.update(i);
  const std::chrono::duration<double> took = steady_clock::now() - began;
  const std::string drawn = pipe.read();
  EXPECT_LE(static_cast<double>(std::count(drawn.begin(), drawn.end(), '\r')), 2 + 10 * took.count());
}

}  // namespace
}  // namespace ratoon::progress_bar_test
