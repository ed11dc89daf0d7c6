// The age of the lists of checkpoints that waiting processes send.
#include <gtest/gtest.h>

#include "operator/coordinator/job_session.h"
#include "tests/support/operator_builders.h"

namespace ratoon::coordinator::job_session_lists_test {
namespace {

using test::at_seconds;
using test::process;

api::Announcement announcement(std::uint64_t attempt, std::vector<ProcessIdentity> current) {
  return {.attempt = Attempt(attempt), .current = std::move(current), .reason = "forming"};
}

TEST(JobSessionLists, WhoWaitsWithAnOldOneIsToldOnceAndItsNextOneIsNew) {
  JobSession job_session;
  auto told = announcement(2, {process(0)});
  job_session.announce(told);
  job_session.record_join(test::join_request(process(0)), at_seconds(10));
  job_session.record_join(test::join_request(process(0)), at_seconds(20));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(10))
      << "it asks again with the same list";
  EXPECT_FALSE(job_session.take_checkpoint_list_request(process(0)));
  told.checkpoint_lists_valid_from = at_seconds(10);
  EXPECT_FALSE(job_session.announce(told)) << "that is new enough";
  told.checkpoint_lists_valid_from = at_seconds(21);
  EXPECT_TRUE(job_session.announce(told)) << "news for one who waits";
  EXPECT_FALSE(job_session.announce(told)) << "but once";
  job_session.record_join(test::join_request(process(0)), at_seconds(22));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(10)) << "it was not told yet";
  EXPECT_TRUE(job_session.take_checkpoint_list_request(process(0)));
  EXPECT_FALSE(job_session.take_checkpoint_list_request(process(0)));
  job_session.record_join(test::join_request(process(0)), at_seconds(23));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(23));
  EXPECT_FALSE(job_session.announce(told));
}

TEST(JobSessionLists, ACompletionIsOfItsFirstReport) {
  JobSession job_session;
  job_session.announce(announcement(2, {process(0)}));
  job_session.record_completed({.process = process(0), .attempt = Attempt(1)}, at_seconds(5));
  job_session.record_completed({.process = process(0), .attempt = Attempt(1)}, at_seconds(7));
  job_session.record_beat(test::beat(process(0), 1, 20), at_seconds(9));
  EXPECT_EQ(job_session.processes()[0].completed_at, at_seconds(5));
  EXPECT_EQ(job_session.processes()[0].last_heard, at_seconds(9));
}

// The processes of an ended world repeat their lists to an operator that has just begun.
TEST(JobSessionLists, AreAsOldAsTheProcessSaysThatTheyAre) {
  JobSession job_session;
  auto told = announcement(2, {process(0)});
  job_session.announce(told);
  auto request = test::join_request(process(0));
  request.inventory_age_seconds = 30;
  job_session.record_join(request, at_seconds(100));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(70))
      << "heard for the first time, and old";
  request.inventory_age_seconds = 50;
  job_session.record_join(request, at_seconds(120));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(70)) << "the same list";
  told.checkpoint_lists_valid_from = at_seconds(110);
  EXPECT_TRUE(job_session.announce(told));
  EXPECT_TRUE(job_session.take_checkpoint_list_request(process(0)));
  request.inventory_age_seconds = 51;
  job_session.record_join(request, at_seconds(121));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(70))
      << "it was under way before the request";
  told.checkpoint_lists_valid_from = at_seconds(121);
  EXPECT_TRUE(job_session.announce(told)) << "and is asked for again";
  EXPECT_TRUE(job_session.take_checkpoint_list_request(process(0)));
  request.inventory_age_seconds = 0.5;
  job_session.record_join(request, at_seconds(122));
  EXPECT_EQ(job_session.processes()[0].checkpoints_listed_at, at_seconds(121.5));
  EXPECT_FALSE(job_session.announce(told)) << "that is new enough";
}

}  // namespace
}  // namespace ratoon::coordinator::job_session_lists_test
