// session.peek(): a value of the checkpoint before the objects exist that it describes.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::peek_test {
namespace {

using testing::HasSubstr;

class Peek : public testing::Test {
 protected:
  int train(const std::function<void(Session&)>& function) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(
        Options{.save_folder = folder_.path().string(), .run_name = "run", .member = {}}, function);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  // Tracks these values, and makes steps until `total`.
  void train_until(std::uint64_t total) {
    const int code = train([&](Session& session) {
      std::int64_t width = 96;
      std::string text = "a text";
      std::map<std::string, std::vector<double>> rows = {{"rates", {0.5, 0.25}}};
      double within = 2.5;
      session.track("width", width);
      session.track("text", text);
      session.track("rows", rows);
      session.track("width.of.another", within);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(total)) {
      }
    });
    ASSERT_EQ(code, 0) << said_;
  }

  test::TemporaryFolder folder_;
  std::string said_;
};

TEST_F(Peek, FindsNothingWhereTheRunBegins) {
  std::optional<std::int64_t> width = 1;
  EXPECT_EQ(train([&](Session& session) {
              width = session.peek<std::int64_t>("width");
              session.finish("enough");
            }),
            82)
      << "the run was not begun";
  EXPECT_EQ(width, std::nullopt);
}

TEST_F(Peek, FindsTheValuesOfEachKind) {
  train_until(3);
  bool has_ended = false;
  train([&](Session& session) {
    EXPECT_EQ(session.peek<std::int64_t>("width"), 96);
    EXPECT_EQ(session.peek<std::string>("text"), "a text");
    const auto rows = session.peek<std::map<std::string, std::vector<double>>>("rows");
    EXPECT_EQ(rows, (std::map<std::string, std::vector<double>>{{"rates", {0.5, 0.25}}}));
    EXPECT_EQ(session.peek<double>("width.of.another"), 2.5) << "its name lies within another one";
    has_ended = true;
  });
  EXPECT_TRUE(has_ended) << said_;
}

TEST_F(Peek, LeavesTheRestToTheLoop) {
  train_until(3);
  std::int64_t width = 0;
  EXPECT_EQ(train([&](Session& session) {
              width = session.peek<std::int64_t>("width").value_or(1);
              std::string text;
              std::map<std::string, std::vector<double>> rows;
              double within = 0;
              session.track("width", width);
              session.track("text", text);
              session.track("rows", rows);
              session.track("width.of.another", within);
              for (const std::uint64_t step : session.steps(5)) width += static_cast<std::int64_t>(step);
            }),
            0)
      << said_;
  EXPECT_EQ(width, 96 + 3 + 4);
}

TEST_F(Peek, ANameThatTheCheckpointDoesNotHaveIsRefused) {
  train_until(3);
  EXPECT_EQ(train([](Session& session) { EXPECT_FALSE(session.peek<double>("wdith")); }), 82);
  EXPECT_THAT(said_, HasSubstr("'wdith'"));
}

TEST_F(Peek, IsRefusedAfterTheBeginningOfTheLoop) {
  EXPECT_EQ(train([](Session& session) {
              double sum = 0;
              session.track("sum", sum);
              for ([[maybe_unused]] const std::uint64_t step : session.steps(5))
                sum += session.peek<double>("sum").value_or(0);
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("peek('sum') was called after steps()"));
}

}  // namespace
}  // namespace ratoon::peek_test
