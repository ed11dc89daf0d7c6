#include "cli/run/member_lines.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace ratoon::cli::member_lines_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class MemberLinesTest : public testing::Test {
 protected:
  static std::string name(int index, int incarnation = 0) {
    return "digits-worker-" + std::to_string(index) + "-i" + std::to_string(incarnation);
  }
  void write(const std::string& member, const std::string& text) const {
    std::ofstream(folder_.path() / (member + ".log"), std::ios::app) << text;
  }
  // `ended`: a member of which no process lives.
  void follow(MemberLines& lines, const std::vector<std::string>& living,
              const std::string& ended = "") const {
    json members = json::array();
    for (const auto& member : living) members.push_back({{"name", member}, {"pids", {7}}});
    if (!ended.empty()) members.push_back({{"name", ended}, {"pids", json::array()}});
    lines.follow({{"members", members}});
  }
  std::vector<std::string> relayed(MemberLines& lines) {
    printed_.clear();
    lines.relay();
    return printed_;
  }
  MemberLines lines(bool is_terminal = false) {
    return {folder_.path(),
            {.add = [this](const std::string& line) { printed_.push_back(line); },
             .has_room = [this] { return printed_.size() < room_; },
             .write = [] {},
             .is_terminal = is_terminal}};
  }

  test::TemporaryFolder folder_;
  std::vector<std::string> printed_;
  std::size_t room_ = 1000;
};

TEST_F(MemberLinesTest, EachLineHasTheNumberOfItsProcess) {
  EXPECT_EQ(line_prefix_of("digits-worker-12-i3"), "[12] ");
  EXPECT_EQ(line_prefix_of("my-job-i1-worker-2-i0"), "[2] ");
  MemberLines all = lines();
  follow(all, {name(0), name(1)});
  EXPECT_THAT(relayed(all), IsEmpty());
  write(name(0), "step 1\nstep 2\n");
  write(name(1), "step 1\n");
  EXPECT_THAT(relayed(all), ElementsAre("[0] step 1", "[0] step 2", "[1] step 1"));
  EXPECT_THAT(relayed(all), IsEmpty());
}

TEST_F(MemberLinesTest, ALineThatIsNotCompleteWaitsForItsRestOrForTheEndOfItsMember) {
  MemberLines all = lines();
  follow(all, {name(0), name(1)});
  write(name(0), "ste");
  write(name(1), "Trace");
  EXPECT_THAT(relayed(all), IsEmpty());
  write(name(0), "p 1\n");
  EXPECT_THAT(relayed(all), ElementsAre("[0] step 1"));
  follow(all, {name(0), name(1, 1)}, name(1));
  EXPECT_THAT(relayed(all), ElementsAre("[1] Trace"));
  follow(all, {name(0), name(1, 1)}, name(1));
  EXPECT_THAT(relayed(all), IsEmpty()) << "it is listed for a while after its end";
  write(name(1, 1), "again\n");
  EXPECT_THAT(relayed(all), ElementsAre("[1] again"));
  EXPECT_FALSE(all.has_more());
}

TEST_F(MemberLinesTest, NoLineIsLostWhereTheOutputTakesNone) {
  MemberLines all = lines();
  follow(all, {name(0)});
  for (int i = 0; i < 100; ++i) write(name(0), std::to_string(i) + "\n");
  room_ = 0;
  EXPECT_THAT(relayed(all), IsEmpty());
  follow(all, {});
  EXPECT_THAT(relayed(all), IsEmpty());
  std::vector<std::string> got;
  room_ = 7;
  while (all.has_more())
    for (const auto& line : relayed(all)) got.push_back(line);
  ASSERT_EQ(got.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], "[0] " + std::to_string(i));
}

// A terminal that was stopped and goes on, while the member works without a word.
TEST_F(MemberLinesTest, TheRestIsShownWhenTheOutputHasRoomAgain) {
  MemberLines all = lines();
  follow(all, {name(0)});
  write(name(0), "a\nb\n");
  room_ = 0;
  EXPECT_THAT(relayed(all), IsEmpty());
  room_ = 1000;
  EXPECT_THAT(relayed(all), ElementsAre("[0] a", "[0] b"));
}

TEST_F(MemberLinesTest, WhatEarlierRunsLeftIsNotShown) {
  write(name(0), "old\n");
  write(name(1), "old\n");
  MemberLines all = lines();
  std::filesystem::remove(folder_.path() / (name(1) + ".log"));  // set aside, by a run that starts over
  write("other", "keeps the number of the removed file from being used again");
  write(name(0), "new\n");
  write(name(1), "new\n");
  follow(all, {name(0), name(1)});
  EXPECT_THAT(relayed(all), ElementsAre("[0] new", "[1] new"));
}

TEST_F(MemberLinesTest, ALineWithoutEndIsShownInParts) {
  MemberLines all = lines();
  follow(all, {name(0)});
  write(name(0), std::string(100'000, 'x') + "\nshort\n");
  std::size_t shown = 0;
  auto printed = relayed(all);
  ASSERT_FALSE(printed.empty());
  EXPECT_EQ(printed.back(), "[0] short");
  printed.pop_back();
  for (const auto& line : printed) {
    EXPECT_LE(line.size(), 20'000u);
    shown += line.size() - 4;
  }
  EXPECT_EQ(shown, 100'000u);
}

TEST_F(MemberLinesTest, NothingMovesTheCursorOfATerminal) {
  const std::string text = "10 %\r20 %\r\n\x1b[31mred\x1b[0m\tok\x1b[2Jgone\n";
  MemberLines piped = lines();
  MemberLines terminal = lines(true);
  for (MemberLines* all : {&piped, &terminal}) follow(*all, {name(0)});
  write(name(0), text);
  EXPECT_THAT(relayed(piped), ElementsAre("[0] 10 %\r20 %", "[0] \x1b[31mred\x1b[0m\tok\x1b[2Jgone"));
  EXPECT_THAT(relayed(terminal), ElementsAre("[0] 20 %", "[0] \x1b[31mred\x1b[0m\tok?[2Jgone\x1b[0m"));
}

// A log that cannot be read must not keep the command from its end.
TEST_F(MemberLinesTest, ALogThatCannotBeReadIsGivenUp) {
  MemberLines all = lines();
  std::filesystem::create_directory(folder_.path() / (name(0) + ".log"));
  follow(all, {name(0)});
  int rounds = 0;
  while (all.has_more() && ++rounds < 10) all.relay();
  EXPECT_LT(rounds, 10);
}

}  // namespace
}  // namespace ratoon::cli::member_lines_test
