// Ranks of several launches that meet in the folder of one run.
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent/session/link/group_link_fixture.h"

namespace ratoon::session::group_launches_test {
namespace {

using testing::HasSubstr;

// Two launches at the same moment, each with all of its ranks: a rank of one and a rank of the other arrive
// first.
TEST_F(GroupLinkTest, RanksOfTwoLaunchesFormNoWorldHoweverAlikeTheirNamesAre) {
  for (const auto& [one, other] : {std::pair(std::string("port.1"), std::string("port_1")),
                                   {"port:1", "port.1"},
                                   {std::string(128, 'a') + "1", std::string(128, 'a') + "2"}}) {
    SCOPED_TRACE(one);
    name_ = one;
    const auto first = opened(0);
    auto first_joins = join(*first);
    name_ = other;
    const auto second = opened(1);
    auto second_joins = join(*second);
    let_links_look();
    for (auto* joins : {&first_joins, &second_joins})
      EXPECT_EQ(joins->wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    first->give_up("the test ends");
    second->give_up("the test ends");
    EXPECT_FALSE(first_joins.get());
    EXPECT_FALSE(second_joins.get());
  }
}

// Its own rank 0 finds and ends it only by its call.
TEST_F(GroupLinkTest, ARankOfAnotherLaunchThatWaitsIsToldThatItsLaunchIsRefused) {
  name_ = "launch-2";
  const auto waiting = opened(1);
  auto waits = join(*waiting);
  wait_for_call(1, 2);
  name_ = "launch-1";
  const auto zero = opened(0);  // sweeps what earlier launches left
  auto joins = join(*zero);
  wait_for_call(0, 2);
  name_ = "launch-2";
  const auto refused = open(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
  const auto told = waits.get();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("rank 0 forms no world: another process trains in"));
  zero->give_up("the test ends");
  EXPECT_FALSE(joins.get());
}

TEST_F(GroupLinkTest, ALaunchThatIsRefusedBeforeTheOtherOneHasCalledTellsItsRanks) {
  name_ = "launch-2";
  const auto waiting = opened(1);
  auto waits = join(*waiting);
  wait_for_call(1, 2);
  name_ = "launch-1";
  const auto zero = opened(0);
  name_ = "launch-2";
  auto refusing = std::async(std::launch::async, [this] { return open(0); });
  let_links_look();
  auto joins = join(*zero);
  EXPECT_FALSE(refusing.get());
  const auto told = waits.get();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("rank 0 forms no world: another process trains in"));
  zero->give_up("the test ends");
  EXPECT_FALSE(joins.get());
}

}  // namespace
}  // namespace ratoon::session::group_launches_test
