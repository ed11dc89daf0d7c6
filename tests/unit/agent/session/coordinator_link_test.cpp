// The agent's link against a real coordinator on loopback: what it hears in time, and that it ends at once.
#include "agent/src/session/coordinator_link.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "operator/coordinator/coordinator.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const JobKey kJob{.name_space = "default", .name = "counter"};

class CoordinatorLinkTest : public testing::Test {
 protected:
  CoordinatorLinkTest() {
    auto server = http::HttpServer::start({}, [this](http::ServerRequest request, http::Responder responder) {
      coordinator_.handle(request, std::move(responder));
    });
    EXPECT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    std::filesystem::create_directories(folder_ / "run");
    options_.save_folder = folder_.path().string();
    options_.run_name = "run";
    options_.member = {.coordinator_url = "http://127.0.0.1:" + std::to_string(server_->port()),
                       .job_namespace = kJob.name_space,
                       .job_name = kJob.name,
                       .role = "worker",
                       .member_uid = "uid-0"};
    announce(1, 0);
    auto link = CoordinatorLink::open(options_);
    EXPECT_TRUE(link) << link.error().message();
    link_ = std::move(*link);
  }
  ~CoordinatorLinkTest() override {
    link_.reset();
    server_->stop();
  }

  void announce(std::uint64_t attempt, std::uint32_t incarnation, std::vector<api::Seat> world = {},
                bool stop = false) {
    ProcessIdentity current{.job = kJob, .role = "worker", .incarnation = incarnation};
    coordinator_.announce(kJob, {.attempt = Attempt(attempt),
                                 .world = std::move(world),
                                 .current = {current},
                                 .stop = stop,
                                 .reason = "because the test says so"});
  }
  std::future<Result<Assignment>> join(Attempt newest = Attempt(0)) {
    return std::async(std::launch::async, [this, newest] { return link_->join({}, newest); });
  }
  JoinRequest wait_for_joiner() {
    std::optional<JoinRequest> joiner;
    wait_until([&] {
      const auto processes = coordinator_.processes(kJob);
      if (!processes.empty()) joiner = processes.front().waiting;
      return joiner.has_value();
    });
    return joiner.value_or(JoinRequest());
  }
  // Forms the world of that attempt with the process that waits.
  void form(std::uint64_t attempt) {
    const JoinRequest joiner = wait_for_joiner();
    announce(attempt, 0,
             {{.process = joiner.process,
               .assignment = {.attempt = Attempt(attempt), .world_size = 1, .rendezvous = joiner.address}}});
  }
  template <class Condition>
  void wait_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(condition());
  }

  test::TemporaryFolder folder_;
  SystemClock clock_;
  coordinator::Coordinator coordinator_{
      clock_,
      {.authenticate = [](std::string_view, const ProcessIdentity&) { return Result<void>(); },
       .on_news = [](const JobKey&) {}}};
  std::unique_ptr<http::HttpServer> server_;
  Options options_;
  std::unique_ptr<Link> link_;
};

TEST_F(CoordinatorLinkTest, JoinsLeavesWhenToldAndJoinsAgain) {
  auto first = join(Attempt(4));
  EXPECT_EQ(wait_for_joiner().left_attempt, Attempt(4)) << "what lies in the folder counts as left";
  form(5);
  EXPECT_EQ(first.get()->attempt, Attempt(5));
  EXPECT_EQ(link_->standing(), Standing::kGoOn);

  announce(6, 0);
  wait_until([&] { return link_->standing() == Standing::kWorldChanged; });
  EXPECT_THAT(link_->reason(), HasSubstr("because the test says so"));

  auto second = join();
  EXPECT_EQ(wait_for_joiner().left_attempt, Attempt(5));
  form(6);
  EXPECT_EQ(second.get()->attempt, Attempt(6));
  EXPECT_EQ(link_->standing(), Standing::kGoOn);
}

TEST_F(CoordinatorLinkTest, InAPodItListensAtThePodsAddress) {
  EXPECT_EQ(link_->own_host(), "127.0.0.1");
  link_.reset();
  options_.member.pod_ip = "127.0.0.9";
  auto link = CoordinatorLink::open(options_);
  ASSERT_TRUE(link) << link.error().message();
  link_ = std::move(*link);
  EXPECT_EQ(link_->own_host(), "127.0.0.9");
  EXPECT_GE(link_->listening_fd(), 0);
  auto joined = join();
  EXPECT_THAT(wait_for_joiner().address, testing::StartsWith("127.0.0.9:"));
  form(1);
  EXPECT_TRUE(joined.get());
}

TEST_F(CoordinatorLinkTest, GivesUpAParkedJoinWhenItIsFenced) {
  auto joined = join();
  wait_for_joiner();
  announce(2, 1);
  EXPECT_FALSE(joined.get());
  EXPECT_EQ(link_->standing(), Standing::kFenced);
}

// Whoever answers next may remember nothing of what was saved: the list that is shown must be a new one.
TEST_F(CoordinatorLinkTest, AJoinThatNobodyAnswersReturns) {
  coordinator_.close(kJob);
  const auto alone = join().get();
  ASSERT_FALSE(alone);
  EXPECT_TRUE(alone.error().is_retryable());
  EXPECT_EQ(link_->standing(), Standing::kGoOn);
  announce(1, 0);
  auto joined = join();
  form(1);
  EXPECT_TRUE(joined.get());
}

TEST_F(CoordinatorLinkTest, HearsThatItIsToStop) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  announce(1, 0, {}, true);
  wait_until([&] { return link_->standing() == Standing::kStop; });
}

TEST_F(CoordinatorLinkTest, TellsOfACommitAtOnceAndAtTheVeryEnd) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  const auto committed = [this] {
    const auto processes = coordinator_.processes(kJob);
    return processes.empty() || !processes.front().beat ? std::nullopt : processes.front().beat->committed;
  };
  InventoryEntry entry{
      .tier = "volume", .attempt = Attempt(1), .step = Step(10), .digest = "d", .is_complete = true};
  const auto before = std::chrono::steady_clock::now();
  link_->note({.attempt = Attempt(1), .step = Step(10), .committed = entry});
  wait_until([&] { return committed() == entry; });
  EXPECT_LT(std::chrono::steady_clock::now() - before, 900ms) << "a beat would come only after a second";
  entry.step = Step(20);
  link_->note({.attempt = Attempt(1), .step = Step(20), .committed = entry});
  link_.reset();
  EXPECT_EQ(committed(), entry);
}

// The operator times how long it takes to get back to work by these.
TEST_F(CoordinatorLinkTest, TellsOfEachMilestoneAtOnce) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  Position position{.attempt = Attempt(1), .phase = ProcessPhase::kLoad, .milestone = Milestone::kJoined};
  const auto before = std::chrono::steady_clock::now();
  const auto is_heard = [&] {
    const auto beat = coordinator_.processes(kJob).front().beat;
    return beat && beat->attempt == position.attempt && beat->phase == position.phase &&
           beat->step == position.step;
  };
  const auto tell = [&](Milestone milestone, ProcessPhase phase, std::uint64_t step) {
    position.milestone = milestone;
    position.phase = phase;
    position.step = Step(step);
    link_->note(position);
    wait_until(is_heard);
  };
  tell(Milestone::kJoined, ProcessPhase::kLoad, 0);
  tell(Milestone::kLoaded, ProcessPhase::kCompute, 40);
  tell(Milestone::kStepped, ProcessPhase::kCompute, 41);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 900ms) << "beats would come only each second";
}

TEST_F(CoordinatorLinkTest, SaysWithHowManyStepsItLeft) {
  auto first = join();
  EXPECT_EQ(wait_for_joiner().left_step, Step(0));
  form(1);
  ASSERT_TRUE(first.get());
  link_->note({.attempt = Attempt(1), .step = Step(53)});
  announce(2, 0);
  wait_until([&] { return link_->standing() == Standing::kWorldChanged; });
  auto second = join();
  EXPECT_EQ(wait_for_joiner().left_step, Step(53));
  form(2);
  EXPECT_TRUE(second.get());
}

TEST_F(CoordinatorLinkTest, HearsWhatIsWantedOfAll) {
  auto joined = join();
  form(1);
  ASSERT_TRUE(joined.get());
  EXPECT_EQ(link_->wanted().save_request, 0u);
  ProcessIdentity current{.job = kJob, .role = "worker"};
  coordinator_.announce(kJob,
                        {.attempt = Attempt(1), .current = {current}, .save_request = 2, .hand_over = true});
  wait_until([&] { return link_->wanted().save_request == 2 && link_->wanted().hand_over == Attempt(1); });
  EXPECT_EQ(link_->standing(), Standing::kGoOn) << "nobody is made to leave by it";
  coordinator_.announce(kJob, {.attempt = Attempt(1), .current = {current}, .save_request = 2});
  wait_until([&] { return link_->wanted().hand_over == Attempt(0); });
}

TEST_F(CoordinatorLinkTest, EndsWithoutWaitingForItsPolls) {
  const auto before = std::chrono::steady_clock::now();
  link_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s) << "polls are held for 20";
}

TEST_F(CoordinatorLinkTest, RefusesALifelineThatIsNone) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  options_.member.lifeline_fd = fd;
  const auto link = CoordinatorLink::open(options_);
  ::close(fd);
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message(), HasSubstr("is not the runner's lifeline"));
}

}  // namespace
}  // namespace ratoon::session
