#include "operator/runtime/notice_config.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/runtime/api_server/read_yaml.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::runtime::notice_config_test {
namespace {

using core::NoticeRule;
using core::NoticeRules;
using core::NoticeSource;
using core::ValueTimeFormat;
using std::chrono::seconds;
using testing::HasSubstr;

const std::string kHead = "apiVersion: operator.ratoon.dev/v1alpha1\nkind: NoticeRules\n";

Result<NoticeRules> read(const std::string& body, NoticeRules rules = {}) {
  const auto document = parse_yaml(kHead + body, "notices.yaml");
  EXPECT_TRUE(document) << body;
  return apply_notice_rules(*document, std::move(rules));
}

TEST(NoticeConfig, ReadsEachFieldOfARule) {
  const auto rules = read(R"(rules:
  - {name: gpu-fault, sign: Condition, key: GpuFault, value: "False", seconds: 300}
  - name: rack
    sign: Label
    key: example.com/rack-ends
    nodeLabels: {example.com/pool: "true", example.com/kind: ''}
    timeInValue: UnixSeconds
    leadSeconds: 604800
    seconds: 0
  - {name: leaving, sign: Taint, key: example.com/going, value: now, effect: PreferNoSchedule, enabled: true}
  - {name: note, sign: Annotation, key: due, timeInValue: RFC3339}
  - {name: cordon, sign: Cordon}
  - {name: deletion, sign: Deletion}
  - {name: shutdown, sign: Shutdown, seconds: 105}
)");
  ASSERT_TRUE(rules) << rules.error().message();
  const NoticeRules expected = {
      {.name = "gpu-fault",
       .sign = NoticeSource::kCondition,
       .key = "GpuFault",
       .value = "False",
       .node_end_after = seconds(300)},
      {.name = "rack",
       .sign = NoticeSource::kLabel,
       .key = "example.com/rack-ends",
       .node_labels = {{"example.com/pool", "true"}, {"example.com/kind", ""}},
       .node_end_after = seconds(0),
       .value_time_format = ValueTimeFormat::kUnixSeconds,
       .notice_lead_time = seconds(604800)},
      {.name = "leaving", .key = "example.com/going", .value = "now", .effect = "PreferNoSchedule"},
      {.name = "note",
       .sign = NoticeSource::kAnnotation,
       .key = "due",
       .value_time_format = ValueTimeFormat::kRfc3339},
      {.name = "cordon", .sign = NoticeSource::kCordon},
      {.name = "deletion", .sign = NoticeSource::kDeletion},
      {.name = "shutdown", .sign = NoticeSource::kShutdown, .node_end_after = seconds(105)}};
  EXPECT_EQ(*rules, expected);
}

TEST(NoticeConfig, ChangesBuiltInRulesByTheirNamesAndKeepsTheOthers) {
  const auto& built_in = core::built_in_notice_rules();
  const auto rules = read(
      "rules: [{name: gke-spot-shutdown, sign: Shutdown, seconds: 105, nodeLabels: {a: b}}, "
      "{name: node-cordon, enabled: false}, {name: other, sign: Label, key: k}]",
      built_in);
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(rules->size(), built_in.size()) << "one is removed, one is added";
  const auto find = [&](const char* name) { return std::ranges::find(*rules, name, &NoticeRule::name); };
  EXPECT_EQ(find("node-cordon"), rules->end());
  EXPECT_EQ(find("gke-spot-shutdown")->node_end_after, seconds(105));
  EXPECT_EQ(find("gke-spot-shutdown") - rules->begin(), 1) << "it keeps its place";
  EXPECT_EQ(rules->back().name, "other");
  EXPECT_EQ(find("aws-spot-interruption")->node_end_after, seconds(120));
  EXPECT_EQ(*read("rules: []", built_in), built_in);
}

TEST(NoticeConfig, RefusesWhatItDoesNotKnowByRuleAndField) {
  for (
      const auto& [body, part] : std::vector<std::pair<std::string, std::string>>{
          {"rules: {}", "rules must be a list of at most 128 rules, found {}"},
          {"other: 1\nrules: []",
           "other is not a field of this file; the fields are apiVersion, kind, rules"},
          {"", "rules must be a list"},
          {"rules: [a]", "rules[0] must be an object with the fields name, sign, key"},
          {"rules: [{sign: Cordon}]",
           "rules[0].name must be 1 to 63 small letters, digits and '-', found null"},
          {"rules: [{name: A, sign: Cordon}]", "rules[0].name must be"},
          {"rules: [{name: a, sign: Cordon, second: 5}]",
           "rules[0].second is not a field of a rule; the fields are"},
          {"rules: [{name: a}]",
           "rules[0].sign must be one of Taint, Condition, Label, Annotation, Cordon, Deletion, Shutdown, "
           "found null"},
          {"rules: [{name: a, sign: taint, key: k}]", "rules[0].sign must be one of Taint"},
          {"rules: [{name: b, sign: Cordon}, {name: a, sign: Taint}]",
           "rules[1].key must be the key of the taint"},
          {"rules: [{name: a, sign: Taint, key: ''}]", "rules[0].key must be a text of 1 to 317 bytes"},
          {"rules: [{name: a, sign: Cordon, key: k}]",
           "rules[0].key has an effect only in rules with the signs Taint, Condition, Label and Annotation: "
           "remove it"},
          {"rules: [{name: a, sign: Shutdown, value: k}]",
           "rules[0].value has an effect only in rules with the signs"},
          {"rules: [{name: a, sign: Label, key: k, effect: NoExecute}]",
           "rules[0].effect has an effect only in rules with the sign Taint: remove it"},
          {"rules: [{name: a, sign: Taint, key: k, effect: Never}]",
           "rules[0].effect must be one of NoSchedule, NoExecute, PreferNoSchedule, found \"Never\""},
          {"rules: [{name: a, sign: Label, key: k, value: [v]}]", "rules[0].value must be a text"},
          {"rules: [{name: a, sign: Taint, key: k, seconds: 0}]",
           "rules[0].seconds must be a whole number from 1 to 604800, found \"0\""},
          {"rules: [{name: a, sign: Taint, key: k, seconds: 2m}]", "rules[0].seconds must be a whole number"},
          {"rules: [{name: a, sign: Taint, key: k, seconds: 604801}]",
           "rules[0].seconds must be a whole number"},
          {"rules: [{name: a, sign: Taint, key: k, leadSeconds: 5}]",
           "rules[0].leadSeconds has an effect only in rules with timeInValue: remove it"},
          {"rules: [{name: a, sign: Label, key: k, timeInValue: Unix}]",
           "rules[0].timeInValue must be one of UnixSeconds, RFC3339, found \"Unix\""},
          {"rules: [{name: a, sign: Label, key: k, value: v, timeInValue: UnixSeconds}]",
           "rules[0].value has an effect only in rules without timeInValue"},
          {"rules: [{name: a, sign: Cordon, timeInValue: UnixSeconds}]",
           "rules[0].timeInValue has an effect only in rules with the signs Taint, Label and Annotation: "
           "remove it"},
          {"rules: [{name: a, sign: Condition, key: k, timeInValue: UnixSeconds}]",
           "rules[0].timeInValue has an effect only in rules with the signs"},
          {"rules: [{name: a, sign: Label, key: k, timeInValue: RFC3339, leadSeconds: -1}]",
           "rules[0].leadSeconds must be a whole number from 0 to 604800"},
          {"rules: [{name: a, sign: Cordon, nodeLabels: {}}]", "rules[0].nodeLabels must be 1 to 8 labels"},
          {"rules: [{name: a, sign: Cordon, nodeLabels: {k: [v]}}]",
           "rules[0].nodeLabels must be 1 to 8 labels"},
          {"rules: [{name: a, enabled: 0}]", "rules[0].enabled must be true or false, found \"0\""},
          {"rules: [{name: a, sign: Cordon, enabled: false}]",
           "rules[0] has enabled: false, so it must have no fields but name and enabled"},
          {"rules: [{name: cordon, enabled: false}]",
           "rules[0].name must be the name of a built-in rule, since enabled is false; found cordon, and the "
           "built-in rules are node-deletion,"},
          {"rules: [{name: a, sign: Cordon}, {name: a, sign: Deletion}]",
           "rules[1].name must be unique in this file, found a again"}}) {
    const auto done = read(body, core::built_in_notice_rules());
    ASSERT_FALSE(done) << body;
    EXPECT_THAT(done.error().message(), HasSubstr(part));
    EXPECT_EQ(done.error().kind(), ErrorKind::kInvalid);
  }
  std::string many = "rules:\n";
  for (int i = 0; i < 129; ++i) many += "  - {name: a" + std::to_string(i) + ", sign: Cordon}\n";
  EXPECT_FALSE(read(many));
}

TEST(NoticeConfig, OfAnotherVersionIsRefused) {
  EXPECT_THAT(
      apply_notice_rules({{"apiVersion", "v2"}, {"kind", "NoticeRules"}}, {}).error().message(),
      HasSubstr("the file must begin with apiVersion: operator.ratoon.dev/v1alpha1 and kind: NoticeRules"));
  EXPECT_FALSE(apply_notice_rules(nlohmann::json::array(), {}));
}

TEST(NoticeConfig, AnErrorNamesTheFileAndItsLine) {
  const test::TemporaryFolder folder;
  const auto path = folder / "notices.yaml";
  EXPECT_EQ(*read_notice_rules(""), core::built_in_notice_rules());
  EXPECT_THAT(read_notice_rules(path.string()).error().message(), HasSubstr(path.string()));
  EXPECT_EQ(read_notice_rules(path.string()).error().kind(), ErrorKind::kInvalid) << "the exit code is 82";
  test::write_text(path, kHead + "rules: [}\n");
  EXPECT_THAT(read_notice_rules(path.string()).error().message(), HasSubstr("notices.yaml:3"));
  test::write_text(path, kHead + "rules: [{name: a}]\n");
  EXPECT_THAT(read_notice_rules(path.string()).error().message(),
              HasSubstr(path.string() + ": rules[0].sign"));
  test::write_text(path, kHead + "rules: [{name: a, sign: Cordon}]\n");
  EXPECT_EQ(read_notice_rules(path.string())->back().name, "a");
}

TEST(NoticeConfig, ThePageWithTheBuiltInRulesHasEachOfThem) {
  const auto document = read_yaml("docs/operate/notices.yaml");
  ASSERT_TRUE(document) << document.error().message();
  const auto rules = apply_notice_rules(*document, {});
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(*rules, core::built_in_notice_rules());
}

}  // namespace
}  // namespace ratoon::runtime::notice_config_test
