// The way of a process into a world, and the reasons that keep it out: it receives orders in time, and ends
// at once.
#include "base/contract/exit_code.h"
#include "tests/unit/agent/session/link/coordinator_link_fixture.h"

namespace ratoon::session::coordinator_link_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST_F(CoordinatorLinkTest, JoinsLeavesWhenToldAndJoinsAgain) {
  auto first = join(Attempt(4));
  EXPECT_EQ(wait_for_joiner().left_attempt, Attempt(4)) << "what lies in the folder counts as left";
  EXPECT_FALSE(wait_for_joiner().has_been_in_world) << "but it was in no world";
  form(5);
  EXPECT_EQ(first.get()->attempt, Attempt(5));
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);

  announce(6, 0);
  wait_until([&] { return link_->world_status() == WorldStatus::kWorldChanged; });
  EXPECT_THAT(link_->reason(), HasSubstr("because the test says so"));

  auto second = join();
  EXPECT_EQ(wait_for_joiner().left_attempt, Attempt(5));
  EXPECT_TRUE(wait_for_joiner().has_been_in_world);
  form(6);
  EXPECT_EQ(second.get()->attempt, Attempt(6));
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
}

// A member is lost while the world forms: its seat is on its way when orders name a newer attempt.
TEST_F(CoordinatorLinkTest, ASeatThatNewerOrdersOvertookDisturbsNothing) {
  auto joined = join();
  wait_for_joiner();
  tell(6, 1);
  form(5);
  wait_until([this] { return wait_for_joiner().left_attempt == Attempt(5); });
  tell(6, 2);
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn) << "in no world, so there is none to be called out of";
  form(6);
  const auto assignment = joined.get();
  ASSERT_TRUE(assignment) << assignment.error().message();
  EXPECT_EQ(assignment->attempt, Attempt(6));
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
  announce(7, 0);
  wait_until([&] { return link_->world_status() == WorldStatus::kWorldChanged; });
}

TEST_F(CoordinatorLinkTest, WhoWaitsForASeatSaysForWhat) {
  open({.log_wait_after = 0ms});
  coordinator_.close(kJob);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(join().get().error().is_retryable());
  auto joined = join_with_retries();
  announce(1, 0);
  form(1);
  EXPECT_TRUE(joined.get());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("waiting for an assignment to an attempt"));
  EXPECT_THAT(said, HasSubstr("no TrainingJob default/counter is served by this operator"));
}

TEST_F(CoordinatorLinkTest, ATokenThatIsReplacedIsShownAtOnce) {
  options_.member.token_file = (folder_ / "token").string();
  replace_token("a wrong one");
  open();
  auto joined = join_with_retries();
  wait_until([this] { return refusals_ > 2; });
  replace_token("a good one");
  form(1);
  const auto assignment = joined.get();
  ASSERT_TRUE(assignment) << assignment.error().message();

  replace_token("a wrong one");
  open();  // it reads the file now; beats are refused, which ends nothing
  refusals_ = 0;
  auto told = std::async(std::launch::async, [this] { return link_->complete(done(Attempt(1)), {}); });
  wait_until([this] { return refusals_ > 3; });
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
  replace_token("a good one");
  EXPECT_TRUE(told.get());
}

TEST_F(CoordinatorLinkTest, ACompletionSaysWhyTheProgramEndedTheRun) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  ProcessReport position = done(Attempt(1));
  position.finish_reason = "the loss no longer falls";
  ASSERT_TRUE(link_->complete(position, {}));
  ASSERT_EQ(coordinator_.processes(kJob).size(), 1U);
  EXPECT_EQ(coordinator_.processes(kJob).front().finish_reason, "the loss no longer falls");
}

TEST_F(CoordinatorLinkTest, NoRunIsCompleteWithoutACheckpointOfItsLastStep) {
  ProcessReport position = done(Attempt(1));
  position.step = Step(7);
  EXPECT_EQ(link_->complete(position, {}).error().kind(), ErrorKind::kInvalid) << "it is of an older step";
  position.committed.reset();
  EXPECT_EQ(link_->complete(position, {}).error().kind(), ErrorKind::kInvalid);
  for (const auto& process : coordinator_.processes(kJob)) EXPECT_FALSE(process.is_completed);
}

TEST_F(CoordinatorLinkTest, ATokenThatIsNamedMustBeThere) {
  options_.member.token_file = (folder_ / "token").string();
  const auto refused = CoordinatorLink::open(options_, calls_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("RATOON_TOKEN_FILE"));
}

TEST_F(CoordinatorLinkTest, ATokenThatStaysWrongCountsInTheEnd) {
  options_.member.token_file = (folder_ / "token").string();
  replace_token("a wrong one");
  constexpr auto kPatience = 500ms;
  const auto before = std::chrono::steady_clock::now();
  open({.auth_retry_time = kPatience});
  const auto assignment = join_with_retries().get();
  const auto took = std::chrono::steady_clock::now() - before;
  ASSERT_FALSE(assignment);
  EXPECT_THAT(assignment.error().message(), HasSubstr("the token is nobody's"));
  EXPECT_EQ(exit_code_of(assignment.error().kind()), ExitCode::kStorage) << "the next start may be known";
  EXPECT_GE(took, kPatience);
}

TEST_F(CoordinatorLinkTest, ABeatThatHangsDoesNotHoldUpTheNextForLong) {
  open({.beat_max = 500ms});
  auto joined = join();
  form(1, 60);
  ASSERT_TRUE(joined.get());
  hangs_ = true;
  InventoryEntry entry{
      .tier = "volume", .attempt = Attempt(1), .step = Step(10), .digest = "d", .is_complete = true};
  link_->note_position({.attempt = Attempt(1), .step = Step(10), .committed = entry});
  wait_until([this] {
    const std::lock_guard lock(hanging_mutex_);
    return !hanging_.empty();
  });
  hangs_ = false;
  InventoryEntry damaged = std::exchange(
      entry, {.tier = "volume", .attempt = Attempt(1), .step = Step(20), .digest = "d", .is_complete = true});
  damaged.is_complete = false;
  link_->note_position({.attempt = Attempt(1), .step = Step(20), .committed = entry, .damaged = {damaged}});
  wait_until([&] {
    const auto processes = coordinator_.processes(kJob);
    const auto& beat = processes.front().beat;  // none yet while the first one still hangs
    return beat && beat->committed == entry && beat->damaged == std::vector{damaged};
  });
}

TEST_F(CoordinatorLinkTest, InAPodItListensAtThePodsAddress) {
  EXPECT_EQ(link_->own_host(), "127.0.0.1");
  options_.member.pod_ip = "127.0.0.9";
  open();
  EXPECT_EQ(link_->own_host(), "127.0.0.9");
  EXPECT_GE(link_->listening_fd(), 0);
  link_->set_thread_count(4);
  auto joined = join();
  EXPECT_THAT(wait_for_joiner().address, testing::StartsWith("127.0.0.9:"));
  EXPECT_EQ(wait_for_joiner().threads, 4u);
  form(1);
  EXPECT_TRUE(joined.get());
}

TEST_F(CoordinatorLinkTest, GivesUpAParkedJoinWhenItIsFenced) {
  auto joined = join();
  wait_for_joiner();
  announce(2, 1);
  EXPECT_FALSE(joined.get());
  EXPECT_EQ(link_->world_status(), WorldStatus::kFenced);
}

// An operator that is older or newer, or broken, sends this; another one may answer a moment later.
TEST_F(CoordinatorLinkTest, AnAnswerThatCannotBeReadPassesAndIsSaidOnce) {
  garbled_answer_ = R"({"version":1,"waiting_for":")" + std::string(2000, 'x') + "\"}";
  garbled_ = 3;
  testing::internal::CaptureStderr();
  auto joined = join_with_retries();
  wait_until([this] { return garbled_ == 0; });
  form(1);
  const auto assignment = joined.get();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(assignment) << assignment.error().message();
  EXPECT_THAT(said, HasSubstr("waiting_for must be a text of at most 1024 bytes"));
  EXPECT_EQ(said.find("cannot be read"), said.rfind("cannot be read")) << said;
}

TEST_F(CoordinatorLinkTest, AMessageThatTheCoordinatorCannotReadIsSentAgain) {
  options_.member.role = std::string(300, 'r');
  open();
  for (int i = 0; i < 2; ++i) {
    const auto refused = link_->join({}, Attempt(0));
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is_retryable());
    EXPECT_THAT(refused.error().message(), HasSubstr("process.role must be a text of at most 253 bytes"));
  }
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
}

// The next operator may know nothing of the saved checkpoints: the list that it gets must be a new one.
TEST_F(CoordinatorLinkTest, AJoinThatNobodyAnswersReturns) {
  coordinator_.close(kJob);
  const auto alone = join().get();
  ASSERT_FALSE(alone);
  EXPECT_TRUE(alone.error().is_retryable());
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn);
  announce(1, 0);
  auto joined = join();
  form(1);
  EXPECT_TRUE(joined.get());
}

}  // namespace
}  // namespace ratoon::session::coordinator_link_test
