// Processes that have completed the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/coordinator/job_session.h"
#include "tests/support/operator_builders.h"

namespace ratoon::coordinator::job_session_completions_test {
namespace {

using test::at_seconds;
using test::process;

TEST(JobSession, CompletionIsRememberedThroughLaterBeats) {
  JobSession job_session;
  job_session.record_beat(test::beat(process(0), 4, 399, 1, test::checkpoint(4, 380)), at_seconds(1));
  auto last_word = test::completed(process(0), 4, 400);
  last_word.result[kWeightsKey] = "/data/weights.safetensors";
  job_session.record_completed(last_word, at_seconds(2));
  job_session.record_beat(test::beat(process(0), 4, 400, 2), at_seconds(3));
  EXPECT_TRUE(job_session.processes()[0].is_completed);
  EXPECT_EQ(job_session.processes()[0].weights, "/data/weights.safetensors");
  EXPECT_EQ(job_session.processes()[0].beat->step, Step(400));
}

TEST(JobSession, RefusesACompletionThatIsNotWithTheLastCommit) {
  JobSession job_session;
  const auto told = [](std::uint64_t attempt, std::uint64_t step, const char* digest) {
    auto entry = test::checkpoint(attempt, step);
    entry.digest = digest;
    return entry;
  };
  const auto refusal_of = [&](std::uint64_t attempt, std::uint64_t step, const char* digest) {
    auto last_word = test::completed(process(1), 4, step);
    last_word.checkpoint = {.attempt = Attempt(attempt), .step = Step(step), .digest = digest};
    const auto refusal = job_session.find_completion_refusal(last_word);
    return refusal ? refusal->message : "";
  };
  EXPECT_EQ(refusal_of(4, 400, "a"), "") << "no process told of anything, as after a change of leader";
  job_session.record_beat(test::beat(process(0), 4, 399, 1, told(4, 380, "b")), at_seconds(1));
  EXPECT_EQ(refusal_of(4, 400, "a"), "") << "the beat of its commit may be on its way";
  EXPECT_THAT(refusal_of(4, 370, "a"), testing::HasSubstr("a member reported the commit of step 380"));
  EXPECT_NE(refusal_of(3, 380, "a"), "") << "of the attempt before";
  job_session.record_beat(test::beat(process(0), 4, 400, 2, told(4, 400, "a")), at_seconds(2));
  EXPECT_EQ(refusal_of(4, 400, "a"), "");
  EXPECT_NE(refusal_of(4, 400, "b"), "") << "the same step with other bytes";
  job_session.record_beat(test::beat(process(0), 5, 500, 3, told(5, 500, "c")), at_seconds(3));
  EXPECT_EQ(refusal_of(4, 400, "b"), "") << "another attempt says nothing";
}

// A pod of one process is done with its own record. Of several processes, the status names those that are
// done.
TEST(JobSession, ACompletionIsRecordedOnceTheStatusNamesItsProcess) {
  JobSession job_session;
  api::Announcement told{.attempt = Attempt(1), .current = {process(0)}, .processes_per_node = 2};
  const auto is_recorded = [&] {
    job_session.announce(told);
    return job_session.is_recorded_as_completed(process(0));
  };
  EXPECT_FALSE(is_recorded());
  told.done = {{.member_uid = process(0).member_uid, .local_ranks = 2}};
  EXPECT_FALSE(is_recorded()) << "that is another local rank";
  told.done.front().local_ranks = 1;
  EXPECT_TRUE(is_recorded());
  told.done.clear();
  EXPECT_FALSE(is_recorded());
  told.processes_per_node = 1;
  EXPECT_TRUE(is_recorded());
}

}  // namespace
}  // namespace ratoon::coordinator::job_session_completions_test
