#include "operator/core/policy/restart_rules.h"

#include <gtest/gtest.h>

#include "operator/core/loss/classify.h"
#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::restart_rules_test {
namespace {

using api::RuleAction;

api::RestartPolicy policy() {
  return {.rules = {{.exit_codes = {1, 2}, .action = RuleAction::kFail},
                    {.signals = {11}, .action = RuleAction::kIgnore},
                    {.reasons = {"OOMKilled", "Evicted"}, .action = RuleAction::kRestart},
                    {.exit_codes = {2, 139}, .reasons = {"Evicted"}, .action = RuleAction::kFail}}};
}

api::Pod evicted(int exit_code, std::vector<std::string> reasons = {"Evicted"}) {
  api::Pod pod = test::ended_pod(0, exit_code);
  pod.is_evicted = true;
  pod.end_reasons = std::move(reasons);
  return pod;
}

TEST(RestartRules, TheFirstThatIsMetSaysWhatAnEndingIs) {
  api::Pod out_of_memory = test::ended_pod(0, 137);
  out_of_memory.end_reasons = {"OOMKilled"};
  const struct {
    api::Pod pod;
    EndCause cause;
    const char* sentence;
  } cases[] = {
      {test::ended_pod(0, 2), EndCause::kFatal, "exit code 2 (rules[0]: Fail)"},
      {test::ended_pod(0, 139), EndCause::kDisruption, "crashed with signal 11 (rules[1]: Ignore)"},
      {out_of_memory, EndCause::kApplication,
       "ended by signal 9: its memory limit was reached (OOMKilled) (rules[2]: Restart)"},
      {evicted(137), EndCause::kApplication, "ended by the platform (rules[2]: Restart)"},
      {test::ended_pod(0, 3), EndCause::kApplication, "exit code 3"},
      {test::ended_pod(0, 137), EndCause::kDisruption, "ended by signal 9"},
  };
  for (const auto& c : cases) {
    const MemberEnd ending = classify(c.pod, false, policy());
    EXPECT_EQ(ending.cause, c.cause) << c.sentence;
    EXPECT_EQ(ending.explanation, c.sentence);
  }
}

TEST(RestartRules, OfWhatThePlatformEndedOnlyItsWordsCount) {
  EXPECT_FALSE(match_restart_rule(policy(), evicted(1, {"TerminationByKubelet"})));
  EXPECT_EQ(classify(evicted(1, {"TerminationByKubelet"}), false, policy()).cause, EndCause::kDisruption);
}

TEST(RestartRules, ChangeNothingOfWhatWasDoneOrDeleted) {
  api::Pod pod = test::ended_pod(0, 1);
  EXPECT_EQ(classify(pod, true, policy()).cause, EndCause::kCompleted);
  pod.is_deleting = true;
  EXPECT_EQ(classify(pod, false, policy()).cause, EndCause::kDisruption);
}

TEST(RestartRules, AMemoryLimitThatIsReachedCountsUnlessARuleSaysOtherwise) {
  api::Pod pod = test::ended_pod(0, 137);
  pod.end_reasons = {"OOMKilled"};
  EXPECT_EQ(classify(pod, false).cause, EndCause::kApplication);
  EXPECT_EQ(
      classify(pod, false, {.rules = {{.reasons = {"OOMKilled"}, .action = RuleAction::kIgnore}}}).cause,
      EndCause::kDisruption);
}

TEST(RestartRules, AreAskedWhereMembersEnd) {
  auto seen = test::running(test::job(2));
  seen.job.spec.restart_policy = policy();
  seen.pods[1] = test::ended_pod(1, 2);
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(decision.status.phase, api::JobPhase::kFailed);
  EXPECT_EQ(decision.status.message,
            "digits-worker-1-i0: exit code 2 (rules[0]: Fail); see the member's log");
}

TEST(RestartRules, OfARoleAreAboutItsMembersOnly) {
  api::RestartPolicy of_eval = policy();
  of_eval.rules.front().roles = {"eval"};
  api::Pod pod = test::ended_pod(0, 1);
  EXPECT_EQ(classify(pod, false, of_eval).cause, EndCause::kApplication);
  pod.role = "eval";
  EXPECT_EQ(classify(pod, false, of_eval).cause, EndCause::kFatal);
}

}  // namespace
}  // namespace ratoon::core::restart_rules_test
