// The reports of a working process, and the orders that it receives.
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/blocked_listener.h"
#include "tests/unit/agent/session/link/coordinator_link_fixture.h"

namespace ratoon::session::coordinator_link_news_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST_F(CoordinatorLinkTest, HearsThatItIsToStop) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  announce(1, 0, {}, true);
  wait_until([&] { return link_->world_status() == WorldStatus::kStop; });
}

TEST_F(CoordinatorLinkTest, TellsOfACommitAtOnceAndAtTheVeryEnd) {
  auto joined = join();
  form(1, kHourly);
  ASSERT_TRUE(joined.get());
  const auto committed = [this] {
    const auto processes = coordinator_.processes(kJob);
    return processes.empty() || !processes.front().beat ? std::nullopt : processes.front().beat->committed;
  };
  InventoryEntry entry{
      .tier = "volume", .attempt = Attempt(1), .step = Step(10), .digest = "d", .is_complete = true};
  link_->note_position({.attempt = Attempt(1), .step = Step(10), .committed = entry});
  wait_until([&] { return committed() == entry; });
  entry.step = Step(20);
  link_->note_position({.attempt = Attempt(1), .step = Step(20), .committed = entry});
  link_.reset();
  wait_until([&] { return committed() == entry; });  // a busy coordinator reads the last beat later
}

// The operator measures by these reports how long it takes to get back to work.
TEST_F(CoordinatorLinkTest, TellsOfEachMilestoneAtOnce) {
  auto joined = join();
  form(1, kHourly);
  ASSERT_TRUE(joined.get());
  ProcessReport position{
      .attempt = Attempt(1), .phase = ProcessPhase::kLoad, .milestone = Milestone::kJoined};
  const auto is_heard = [&] {
    const auto beat = coordinator_.processes(kJob).front().beat;
    return beat && beat->attempt == position.attempt && beat->phase == position.phase &&
           beat->step == position.step;
  };
  const auto tell = [&](Milestone milestone, ProcessPhase phase, std::uint64_t step) {
    position.milestone = milestone;
    position.phase = phase;
    position.step = Step(step);
    link_->note_position(position);
    wait_until(is_heard);
  };
  tell(Milestone::kJoined, ProcessPhase::kLoad, 0);
  tell(Milestone::kLoaded, ProcessPhase::kCompute, 40);
  tell(Milestone::kStepped, ProcessPhase::kCompute, 41);
}

TEST_F(CoordinatorLinkTest, ABeatSaysHowLongItStandsThereAndMay) {
  auto joined = join();
  form(1, 0.02);
  ASSERT_TRUE(joined.get());
  const auto beat = [this] { return coordinator_.processes(kJob).front().beat.value_or(Heartbeat()); };
  ProcessReport position{
      .attempt = Attempt(1), .step = Step(7), .phase = ProcessPhase::kData, .allowed = 30s};
  link_->note_position(position);
  wait_until([&] { return beat().phase == ProcessPhase::kData && beat().seconds_in_phase > 0.2; });
  EXPECT_EQ(beat().allowed_seconds, 30);
  const std::uint64_t before = beat().sequence;
  const double stood = beat().seconds_in_phase;
  wait_until([&] {
    link_->note_position(position);  // a sign of life before each look, since a look may come late
    return beat().sequence > before + 2 && beat().seconds_in_phase < stood;
  });
  position.allowed.reset();
  link_->note_position(position);
  wait_until([&] { return !beat().allowed_seconds; });
}

TEST_F(CoordinatorLinkTest, ABeatSaysHowLongTheSaveTakesThatTrainingWaitsFor) {
  auto joined = join();
  form(1, 0.02);
  ASSERT_TRUE(joined.get());
  const auto beat = [this] { return coordinator_.processes(kJob).front().beat.value_or(Heartbeat()); };
  ProcessReport position{.attempt = Attempt(1), .phase = ProcessPhase::kSave, .save_seconds = 0.25};
  link_->note_position(position);
  wait_until([&] { return beat().save_seconds == 0.25; });
  position.saving_since = SystemClock().now();
  link_->note_position(position);
  wait_until([&] { return beat().save_seconds > 0.5; });
}

TEST_F(CoordinatorLinkTest, HearsThatItsWorldIsGivenUpForAHang) {
  auto first = join();
  form(1);
  ASSERT_TRUE(first.get());
  EXPECT_FALSE(link_->is_hung());
  coordinator_.announce(kJob, {.attempt = Attempt(2),
                               .current = {{.job = kJob, .role = "worker"}},
                               .is_hung = true,
                               .reason = "because the test says so"});
  wait_until([&] { return link_->world_status() == WorldStatus::kWorldChanged; });
  EXPECT_TRUE(link_->is_hung());
  auto second = join();
  form(2);
  ASSERT_TRUE(second.get());
  EXPECT_FALSE(link_->is_hung());
}

TEST_F(CoordinatorLinkTest, SaysWithHowManyStepsItLeft) {
  auto first = join();
  EXPECT_EQ(wait_for_joiner().left_step, Step(0));
  form(1);
  ASSERT_TRUE(first.get());
  link_->note_position({.attempt = Attempt(1), .step = Step(53)});
  announce(2, 0);
  wait_until([&] { return link_->world_status() == WorldStatus::kWorldChanged; });
  auto second = join();
  EXPECT_EQ(wait_for_joiner().left_step, Step(53));
  form(2);
  EXPECT_TRUE(second.get());
}

// All processes of attempt 4 are gone.
TEST_F(CoordinatorLinkTest, SaysWhichStepTheHistoryHasOfTheNewestAttempt) {
  link_->note_history(Attempt(4), Step(12));
  auto first = join(Attempt(4));
  const auto joiner = wait_for_joiner();
  EXPECT_EQ(joiner.left_attempt, Attempt(4));
  EXPECT_EQ(joiner.left_step, Step(12));
  EXPECT_FALSE(joiner.has_been_in_world);
  form(5);
  ASSERT_TRUE(first.get());
}

TEST_F(CoordinatorLinkTest, SaysNoStepOfANewerAttemptThatLeftNoHistory) {
  link_->note_history(Attempt(4), Step(12));
  auto first = join(Attempt(6));
  const auto joiner = wait_for_joiner();
  EXPECT_EQ(joiner.left_attempt, Attempt(6));
  EXPECT_EQ(joiner.left_step, Step(0));
  form(7);
  ASSERT_TRUE(first.get());
}

// Before it has loaded anything, its beats must not report the step of the last world for the new one.
TEST_F(CoordinatorLinkTest, InANewWorldItIsAtTheStepFromWhichThatBegins) {
  auto first = join();
  form(1);
  ASSERT_TRUE(first.get());
  link_->note_position({.attempt = Attempt(1), .step = Step(53)});
  announce(2, 0);
  wait_until([&] { return link_->world_status() == WorldStatus::kWorldChanged; });
  auto second = join();
  form(2);
  ASSERT_TRUE(second.get());
  announce(3, 0);
  wait_until([&] { return link_->world_status() == WorldStatus::kWorldChanged; });
  auto third = join();
  EXPECT_EQ(wait_for_joiner().left_step, Step(0)) << "attempt 2 made no step";
  form(3);
  EXPECT_TRUE(third.get());
}

TEST_F(CoordinatorLinkTest, SaysHowOldTheListIsThatItRepeats) {
  garbled_answer_ = R"({"version":1,"waiting_for":"the others"})";
  garbled_ = 3;
  const auto before = std::chrono::steady_clock::now();
  auto joined = join();
  wait_until([&] { return garbled_ == 0; });
  const JoinRequest joiner = wait_for_joiner();
  const std::chrono::duration<double> heard = std::chrono::steady_clock::now() - before;
  EXPECT_GT(joiner.inventory_age_seconds, 0.0);
  EXPECT_LE(joiner.inventory_age_seconds, heard.count());
  form(1);
  EXPECT_TRUE(joined.get());
}

// A checkpoint that is committed while the store is listed may be missing in the list.
TEST_F(CoordinatorLinkTest, AListIsAsOldAsTheBeginningOfItsReading) {
  link_->begin_listing();
  const auto began = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  wait_until([&] { return passed() > 0.2; });
  auto joined = join();
  EXPECT_GT(wait_for_joiner().inventory_age_seconds, 0.2);
  form(1);
  EXPECT_TRUE(joined.get());
}

TEST_F(CoordinatorLinkTest, HearsWhatIsWantedOfAll) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  EXPECT_EQ(link_->outside_requests().save_request, 0u);
  ProcessIdentity current{.job = kJob, .role = "worker"};
  coordinator_.announce(kJob,
                        {.attempt = Attempt(1), .current = {current}, .save_request = 2, .hand_over = true});
  wait_until([&] {
    return link_->outside_requests().save_request == 2 && link_->outside_requests().hand_over == Attempt(1);
  });
  EXPECT_EQ(link_->world_status(), WorldStatus::kGoOn) << "no process is made to leave by it";
  coordinator_.announce(kJob, {.attempt = Attempt(1), .current = {current}, .save_request = 2});
  wait_until([&] { return link_->outside_requests().hand_over == Attempt(0); });
}

// In a world with a member to which its network has no way.
class CoordinatorLinkPeers : public CoordinatorLinkTest {
 protected:
  CoordinatorLinkPeers() {
    open({.peers = {.usual_wait_max = 0ms,
                    .check_interval = 1ms,
                    .pause_if_unreachable = 1ms,
                    .pause_if_all_reachable = 1ms,
                    .connect_timeout = 100ms}});
  }
  Result<Assignment> join_with_peer(double beat_seconds) {
    auto joined = join();
    const JoinRequest joiner = wait_for_joiner();
    const auto seat_of = [&](const ProcessIdentity& process, std::uint32_t rank, const std::string& address) {
      return api::AssignedProcess{.process = process,
                                  .assignment = {.attempt = Attempt(1),
                                                 .rank = Rank(rank),
                                                 .world_size = 2,
                                                 .rendezvous = joiner.address,
                                                 .beat_seconds = beat_seconds},
                                  .address = address};
    };
    const ProcessIdentity peer{.job = kJob, .role = "worker", .index = 1, .member_uid = "uid-1"};
    announce(1, 0, {seat_of(joiner.process, 0, joiner.address), seat_of(peer, 1, blocked_.address())});
    return joined.get();
  }
  [[nodiscard]] api::ProcessFacts facts() const { return coordinator_.processes(kJob).front(); }
  [[nodiscard]] std::vector<std::string> named() const {
    const auto beat = facts().beat;
    return beat ? beat->unreachable_peers : std::vector<std::string>();
  }

  test::BlockedListener blocked_;
};

TEST_F(CoordinatorLinkPeers, AreNamedAtOnceWhileTheProcessWaitsForThem) {
  const auto assignment = join_with_peer(kHourly);
  ASSERT_TRUE(assignment);
  EXPECT_EQ(assignment->peers,
            (std::vector<PeerAddress>{{.member_uid = "uid-1", .address = blocked_.address()}}));
  link_->note_position({.attempt = Attempt(1), .phase = ProcessPhase::kCollective});
  wait_until([&] { return named() == std::vector<std::string>{"uid-1"}; });
  EXPECT_TRUE(facts().peers_unreachable_since);
  link_->note_position(
      {.attempt = Attempt(1), .phase = ProcessPhase::kCompute, .milestone = Milestone::kStepped});
  wait_until([&] { return named().empty(); });
  EXPECT_FALSE(facts().peers_unreachable_since);
}

TEST_F(CoordinatorLinkPeers, AWaitForOneThatIsBackIsMeasuredAnew) {
  ASSERT_TRUE(join_with_peer(0.02));
  const SystemClock clock;
  const Timestamp began = clock.now();
  link_->note_position({.attempt = Attempt(1), .phase = ProcessPhase::kCollective});
  wait_until([&] { return !named().empty() && facts().beat->seconds_in_phase > 0.5; });
  const double stood = facts().beat->seconds_in_phase;
  blocked_.unblock();
  // A wait that is not measured anew lasts as long as the test.
  wait_until([&] {
    const api::ProcessFacts now = facts();
    return now.beat->unreachable_peers.empty() &&
           now.beat->seconds_in_phase < seconds(now.last_heard - began) - stood / 2;
  });
}

TEST_F(CoordinatorLinkTest, EndsWithoutWaitingForItsPolls) {
  open({.poll = 1h});
  wait_until([&] { return coordinator_.load().parked > 0; });
  link_.reset();  // its poll would end after an hour on either side
}

TEST_F(CoordinatorLinkTest, RefusesALifelineThatIsNone) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  options_.member.lifeline_fd = fd;
  const auto link = CoordinatorLink::open(options_, calls_);
  ::close(fd);
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message(), HasSubstr("is not the runner's lifeline"));
}

}  // namespace
}  // namespace ratoon::session::coordinator_link_news_test
