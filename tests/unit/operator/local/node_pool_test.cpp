#include "operator/local/members/node_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/core/members/notice_rules.h"
#include "tests/support/operator_builders.h"

namespace ratoon::local::node_pool_test {
namespace {

using test::at_seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NodePool, HasSoManyNodesThatStay) {
  NodePool pool(2);
  EXPECT_THAT(pool.stable_nodes(), ElementsAre("node-1", "node-2"));
  ASSERT_TRUE(pool.remove("node-1"));
  EXPECT_THAT(pool.stable_nodes(), ElementsAre("node-2", "node-3")) << "no name comes back";
  EXPECT_FALSE(pool.remove("node-1"));
}

TEST(NodePool, ANodeThatWillGoHasNoticeAndItsReplacementIsThereAtOnce) {
  NodePool pool(2);
  ASSERT_TRUE(pool.announce_end("node-2", at_seconds(30), WallTime{}));
  EXPECT_THAT(pool.stable_nodes(), ElementsAre("node-1", "node-3"));
  const auto nodes = pool.nodes();
  ASSERT_EQ(nodes.size(), 3u);
  const auto& rules = core::built_in_notice_rules();
  EXPECT_FALSE(core::find_notice(nodes[0], rules, WallTime{}));
  ASSERT_TRUE(core::find_notice(nodes[1], rules, WallTime{}));
  EXPECT_EQ(core::find_notice(nodes[1], rules, WallTime{})->sign, "taint ratoon.dev/reclaim");
  EXPECT_FALSE(core::find_notice(nodes[2], rules, WallTime{}));
  EXPECT_EQ(pool.describe()[1]["ends_at"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(pool.nodes()[1].ends_at, WallTime{}) << "decisions see it too";
  EXPECT_EQ(pool.nodes()[0].ends_at, std::nullopt);
  EXPECT_FALSE(pool.describe()[0].contains("ends_at"));
}

TEST(NodePool, OfTwoNoticesTheSoonerOneCounts) {
  NodePool pool(1);
  ASSERT_TRUE(pool.announce_end("node-1", at_seconds(30), WallTime{}));
  ASSERT_TRUE(pool.announce_end("node-1", at_seconds(10), WallTime{}));
  ASSERT_TRUE(pool.announce_end("node-1", at_seconds(20), WallTime{}));
  EXPECT_EQ(pool.next_end_time(), at_seconds(10));
  EXPECT_THAT(pool.expired_nodes(at_seconds(9.9)), IsEmpty());
  EXPECT_THAT(pool.expired_nodes(at_seconds(10)), ElementsAre("node-1"));
}

TEST(NodePool, WithoutASizeItHasWhatIsAddedAndNoMore) {
  NodePool pool;
  EXPECT_THAT(pool.remove("a").error().message(), HasSubstr("there is none"));
  pool.add("a");
  pool.add("b");
  pool.add("a");
  EXPECT_THAT(pool.stable_nodes(), ElementsAre("a", "b"));
  ASSERT_TRUE(pool.remove("a"));
  EXPECT_THAT(pool.stable_nodes(), ElementsAre("b"));
  EXPECT_EQ(pool.remove("c").error().message(), "there is no node 'c'; there are b");
  EXPECT_EQ(pool.next_end_time(), std::nullopt);
}

TEST(NodePool, NamesAreWordsOfOneLine) {
  EXPECT_TRUE(NodePool::check_name("gpu-1.example_2"));
  for (const char* name : {"", "a b", "a\n", "\x1b[2J", "../x/"})
    EXPECT_FALSE(NodePool::check_name(name)) << name;
  EXPECT_FALSE(NodePool::check_name(std::string(254, 'a')));
}

}  // namespace
}  // namespace ratoon::local::node_pool_test
