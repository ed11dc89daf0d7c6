// The agent's link against a real coordinator on loopback: what it hears in time, and that it ends at once.
#include "agent/src/session/coordinator_link.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/contract/names.h"
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
      if (hangs_ && request.path == names::route::kBeat) {
        const std::lock_guard lock(hanging_mutex_);
        return hanging_.push_back(std::move(responder));
      }
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
    open();
  }
  ~CoordinatorLinkTest() override {
    link_.reset();
    hanging_.clear();
    server_->stop();
  }

  void open(const LinkPatience& patience = {}) {
    link_.reset();
    auto link = CoordinatorLink::open(options_, calls_, patience);
    EXPECT_TRUE(link) << link.error().message();
    link_ = std::move(*link);
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
  void form(std::uint64_t attempt, double beat_seconds = 1) {
    const JoinRequest joiner = wait_for_joiner();
    announce(attempt, 0,
             {{.process = joiner.process,
               .assignment = {.attempt = Attempt(attempt),
                              .world_size = 1,
                              .rendezvous = joiner.address,
                              .beat_seconds = beat_seconds}}});
  }
  // The link has heard orders that speak of this attempt and this request.
  void tell(std::uint64_t attempt, std::uint64_t save_request) {
    coordinator_.announce(kJob, {.attempt = Attempt(attempt),
                                 .current = {{.job = kJob, .role = "worker"}},
                                 .save_request = save_request,
                                 .reason = "because the test says so"});
    wait_until([&] { return link_->wanted().save_request == save_request; });
    static_cast<void>(link_->reason());  // and is done with hearing them
  }
  // As the training does: until there is a world, or none to be hoped for.
  std::future<Result<Assignment>> join_with_retries() {
    return std::async(std::launch::async, [this] {
      auto assignment = link_->join({}, Attempt(0));
      while (!assignment && assignment.error().is_retryable()) assignment = link_->join({}, Attempt(0));
      return assignment;
    });
  }
  void replace_token(const std::string& token) { test::write_text(folder_ / "token", token); }
  template <class Condition>
  void wait_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(condition());
  }

  std::atomic<int> refusals_ = 0;
  std::atomic<bool> hangs_ = false;  // beats are not answered
  std::mutex hanging_mutex_;
  std::vector<http::Responder> hanging_;  // guarded by hanging_mutex_
  test::TemporaryFolder folder_;
  SystemClock clock_;
  coordinator::Coordinator coordinator_{
      clock_,
      {.authenticate = [this](std::string_view token, const ProcessIdentity&) -> Result<void> {
         if (token != "a wrong one") return {};
         ++refusals_;
         return Error(ErrorKind::kPermissionDenied, "the token is nobody's");
       },
       .on_news = [](const JobKey&) {}}};
  std::unique_ptr<http::HttpServer> server_;
  Options options_;
  checkpoint::PatientCalls calls_{std::chrono::hours(1), std::make_shared<SystemClock>()};
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

// A member is lost while the world forms: the seat in it is on its way when orders speak of a newer one.
TEST_F(CoordinatorLinkTest, ASeatThatNewerOrdersOvertookDisturbsNothing) {
  auto joined = join();
  wait_for_joiner();
  tell(6, 1);
  form(5);
  wait_until([this] { return wait_for_joiner().left_attempt == Attempt(5); });
  tell(6, 2);
  EXPECT_EQ(link_->standing(), Standing::kGoOn) << "in no world, so there is none to be called out of";
  form(6);
  const auto assignment = joined.get();
  ASSERT_TRUE(assignment) << assignment.error().message();
  EXPECT_EQ(assignment->attempt, Attempt(6));
  EXPECT_EQ(link_->standing(), Standing::kGoOn);
  announce(7, 0);
  wait_until([&] { return link_->standing() == Standing::kWorldChanged; });
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
  auto told = std::async(std::launch::async, [this] { return link_->complete({.attempt = Attempt(1)}); });
  wait_until([this] { return refusals_ > 3; });
  EXPECT_EQ(link_->standing(), Standing::kGoOn);
  replace_token("a good one");
  EXPECT_TRUE(told.get());
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
  open({.unauthorized = kPatience});
  const auto assignment = join_with_retries().get();
  const auto took = std::chrono::steady_clock::now() - before;
  ASSERT_FALSE(assignment);
  EXPECT_THAT(assignment.error().message(), HasSubstr("the token is nobody's"));
  EXPECT_GE(took, kPatience);
  EXPECT_LT(took, 10s);
}

TEST_F(CoordinatorLinkTest, ABeatThatHangsDoesNotHoldUpTheNextForLong) {
  open({.beat_max = 500ms});
  auto joined = join();
  form(1, 60);
  ASSERT_TRUE(joined.get());
  hangs_ = true;
  InventoryEntry entry{
      .tier = "volume", .attempt = Attempt(1), .step = Step(10), .digest = "d", .is_complete = true};
  link_->note({.attempt = Attempt(1), .step = Step(10), .committed = entry});
  wait_until([this] {
    const std::lock_guard lock(hanging_mutex_);
    return !hanging_.empty();
  });
  hangs_ = false;
  entry.step = Step(20);
  link_->note({.attempt = Attempt(1), .step = Step(20), .committed = entry});
  wait_until([&] {
    const auto processes = coordinator_.processes(kJob);
    const auto& beat = processes.front().beat;  // none yet while the first one still hangs
    return beat && beat->committed == entry;
  });
}

TEST_F(CoordinatorLinkTest, InAPodItListensAtThePodsAddress) {
  EXPECT_EQ(link_->own_host(), "127.0.0.1");
  options_.member.pod_ip = "127.0.0.9";
  open();
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

TEST_F(CoordinatorLinkTest, ABeatSaysHowLongItStandsThereAndMay) {
  auto joined = join();
  form(1, 0.02);
  ASSERT_TRUE(joined.get());
  const auto beat = [this] { return coordinator_.processes(kJob).front().beat.value_or(Beat()); };
  Position position{.attempt = Attempt(1), .step = Step(7), .phase = ProcessPhase::kData, .allowed = 30s};
  link_->note(position);
  wait_until([&] { return beat().phase == ProcessPhase::kData && beat().seconds_in_phase > 0.2; });
  EXPECT_EQ(beat().allowed_seconds, 30);
  const std::uint64_t before = beat().sequence;
  const double stood = beat().seconds_in_phase;
  link_->note(position);  // a sign of life
  wait_until([&] { return beat().sequence > before + 2 && beat().seconds_in_phase < stood; });
  position.allowed.reset();
  link_->note(position);
  wait_until([&] { return !beat().allowed_seconds; });
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
  wait_until([&] { return link_->standing() == Standing::kWorldChanged; });
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
  const auto link = CoordinatorLink::open(options_, calls_);
  ::close(fd);
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message(), HasSubstr("is not the runner's lifeline"));
}

}  // namespace
}  // namespace ratoon::session
