#include "operator/core/members/notice_rules.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::core::notice_rules_test {
namespace {

using std::chrono::seconds;
using test::wall;

const WallTime kNow = wall(1000);

std::optional<NodeNotice> find(const api::Node& node, const NoticeRules& rules) {
  return find_notice(node, rules, kNow);
}

NodeNotice notice(const std::string& sign, std::optional<WallTime> ends_at = {}) {
  return {.rule = "r", .sign = sign, .ends_at = ends_at};
}

TEST(NoticeRules, ATaintCountsByItsKeyValueAndEffect) {
  NoticeRule rule{.name = "r", .key = "k", .node_end_after = seconds(60)};
  const api::Node node{.name = "n",
                       .taints = {{"other", "NoSchedule"},
                                  {.key = "k", .effect = "NoExecute", .added_at = wall(990), .value = "v"}}};
  EXPECT_EQ(find(node, {rule}), notice("taint k", wall(1050)));
  rule.value = "v";
  EXPECT_EQ(find(node, {rule}), notice("taint k", wall(1050)));
  rule.effect = "NoExecute";
  EXPECT_EQ(find(node, {rule}), notice("taint k", wall(1050)));
  rule.effect = "NoSchedule";
  EXPECT_FALSE(find(node, {rule}));
  rule.effect = "";
  rule.value = "w";
  EXPECT_FALSE(find(node, {rule}));
}

TEST(NoticeRules, APreferenceOfTheSchedulerIsANoticeOnlyWhereARuleSaysSo) {
  const api::Node node{.name = "n", .taints = {{"k", "PreferNoSchedule"}}};
  EXPECT_FALSE(find(node, {{.name = "r", .key = "k"}}));
  EXPECT_EQ(find(node, {{.name = "r", .key = "k", .effect = "PreferNoSchedule"}}), notice("taint k"));
}

TEST(NoticeRules, AConditionCountsByItsStatusAndFromItsChange) {
  NoticeRule rule{
      .name = "r", .sign = NoticeSource::kCondition, .key = "GpuFault", .node_end_after = seconds(300)};
  api::Node node{.name = "n", .conditions = {{.type = "GpuFault", .status = "True", .since = wall(900)}}};
  EXPECT_EQ(find(node, {rule}), notice("condition GpuFault is True", wall(1200)));
  node.conditions[0].status = "False";
  EXPECT_FALSE(find(node, {rule})) << "without a value the rule means True";
  rule.value = "False";
  EXPECT_EQ(find(node, {rule}), notice("condition GpuFault is False", wall(1200)));
  rule.key = "Other";
  EXPECT_FALSE(find(node, {rule}));
}

TEST(NoticeRules, LabelsAndAnnotationsCountByTheirValueOrByAny) {
  const api::Node node{.name = "n", .labels = {{"l", "soon"}}, .annotations = {{"a", std::string(500, 'x')}}};
  EXPECT_EQ(find(node, {{.name = "r", .sign = NoticeSource::kLabel, .key = "l"}}), notice("label l=soon"));
  EXPECT_EQ(find(node, {{.name = "r", .sign = NoticeSource::kLabel, .key = "l", .value = "soon"}}),
            notice("label l=soon"));
  EXPECT_FALSE(find(node, {{.name = "r", .sign = NoticeSource::kLabel, .key = "l", .value = "later"}}));
  EXPECT_FALSE(find(node, {{.name = "r", .sign = NoticeSource::kLabel, .key = "a"}}))
      << "that is an annotation";
  EXPECT_EQ(find(node, {{.name = "r", .sign = NoticeSource::kAnnotation, .key = "a"}}),
            notice("annotation a=" + std::string(60, 'x')));
  EXPECT_EQ(
      find(node, {{.name = "r", .sign = NoticeSource::kLabel, .key = "l", .node_end_after = seconds(9)}}),
      notice("label l=soon", wall(1009)))
      << "a label has no time, so its time counts from now";
}

TEST(NoticeRules, ARuleForNodesWithLabelsCountsOnlyThere) {
  const NoticeRule rule{
      .name = "r", .sign = NoticeSource::kCordon, .node_labels = {{"kind", "spot"}, {"pool", ""}}};
  EXPECT_TRUE(
      find({.name = "n", .is_unschedulable = true, .labels = {{"kind", "spot"}, {"pool", "a"}}}, {rule}));
  EXPECT_FALSE(find({.name = "n", .is_unschedulable = true, .labels = {{"kind", "spot"}}}, {rule}));
  EXPECT_FALSE(
      find({.name = "n", .is_unschedulable = true, .labels = {{"kind", "x"}, {"pool", "a"}}}, {rule}));
}

TEST(NoticeRules, TheFirstRuleGivesTheNameAndAnyRuleTheNearestEnd) {
  const NoticeRules rules = {{.name = "first", .sign = NoticeSource::kCordon},
                             {.name = "near", .sign = NoticeSource::kDeletion, .node_end_after = seconds(10)},
                             {.name = "late", .sign = NoticeSource::kCordon, .node_end_after = seconds(100)}};
  const auto found = find({.name = "n", .is_unschedulable = true, .is_deleting = true}, rules);
  EXPECT_EQ(found, (NodeNotice{.rule = "first", .sign = "it is cordoned", .ends_at = wall(1010)}));
}

NoticeRule scheduled(std::optional<Duration> leaves, ValueTimeFormat format = ValueTimeFormat::kUnixSeconds) {
  return {.name = "r",
          .sign = NoticeSource::kLabel,
          .key = "at",
          .node_end_after = leaves,
          .value_time_format = format,
          .notice_lead_time = seconds(100)};
}

TEST(NoticeRules, ATimeInTheValueBeginsTheNoticeAheadOfIt) {
  const auto node_at = [](const char* at) { return api::Node{.name = "n", .labels = {{"at", at}}}; };
  EXPECT_FALSE(find(node_at("1101"), {scheduled({})}));
  EXPECT_EQ(next_notice_time(node_at("1101"), {scheduled({})}, kNow), wall(1001));
  EXPECT_EQ(find(node_at("1100"), {scheduled({})}), notice("label at=1100"));
  EXPECT_EQ(next_notice_time(node_at("1100"), {scheduled({})}, kNow), std::nullopt);
  EXPECT_EQ(find(node_at("900"), {scheduled({})}), notice("label at=900")) << "it lasts while the label does";
  EXPECT_EQ(find(node_at("1100"), {scheduled(seconds(0))}), notice("label at=1100", wall(1100)));
  EXPECT_EQ(find(node_at("1001"), {scheduled(seconds(30))}), notice("label at=1001", wall(1031)));
  EXPECT_FALSE(find(node_at("1000"), {scheduled(seconds(0))})) << "the node is still there";
  for (const char* text : {"", "soon", "-5", "1100.5", "1100 ", "8000000001", "99999999999999999999"})
    EXPECT_FALSE(find(node_at(text), {scheduled({})})) << text;
  EXPECT_FALSE(find(node_at("8000000000"), {scheduled({})})) << "in the year 2223";
  EXPECT_EQ(find(node_at("1970-01-01T00:18:00Z"), {scheduled(seconds(0), ValueTimeFormat::kRfc3339)}),
            notice("label at=1970-01-01T00:18:00Z", wall(1080)));
  for (const char* text : {"1970-01-01T02:18:00+02:00", "1970-01-01T00:18:00.123456Z"})
    EXPECT_TRUE(find(node_at(text), {scheduled(seconds(0), ValueTimeFormat::kRfc3339)})) << text;
  EXPECT_FALSE(find(node_at("1080"), {scheduled(seconds(0), ValueTimeFormat::kRfc3339)}));
}

TEST(NoticeRules, NameTheFactsOfNodesThatTheyRead) {
  const auto keys =
      fact_keys_of({{.name = "1", .key = "taint"},
                    {.name = "2", .sign = NoticeSource::kCordon, .node_labels = {{"kind", "spot"}}},
                    {.name = "3", .sign = NoticeSource::kLabel, .key = "l"},
                    {.name = "4", .sign = NoticeSource::kAnnotation, .key = "a"},
                    {.name = "5", .sign = NoticeSource::kCondition, .key = "c"}});
  EXPECT_EQ(keys.labels, (std::set<std::string>{"kind", "l"}));
  EXPECT_EQ(keys.annotations, std::set<std::string>{"a"});
  EXPECT_EQ(keys.conditions, std::set<std::string>{"c"});
}

TEST(NoticeRules, ThatAreBuiltInHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const auto& rule : built_in_notice_rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  EXPECT_GT(names.size(), 20U);
}

}  // namespace
}  // namespace ratoon::core::notice_rules_test
