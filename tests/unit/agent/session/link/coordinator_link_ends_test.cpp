// A process at the end of its run whose coordinator does not answer, and which is told to leave while it
// waits.
#include <atomic>
#include <csignal>
#include <stdexcept>
#include <stop_token>

#include <ratoon/train.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "base/contract/exit_code.h"
#include "tests/unit/agent/session/link/coordinator_link_fixture.h"

namespace ratoon::session::coordinator_link_ends_test {
namespace {

using namespace std::chrono_literals;

TEST_F(CoordinatorLinkTest, AWordOfCompletionThatHangsIsGivenUpWhenAsked) {
  hangs_at_the_end_ = true;
  std::stop_source leaves;
  auto told =
      std::async(std::launch::async, [&] { return link_->complete(done(Attempt(1)), leaves.get_token()); });
  wait_until([this] { return completions_ > 0; });
  leaves.request_stop();
  EXPECT_EQ(told.get().error().kind(), ErrorKind::kCancelled);
}

TEST_F(CoordinatorLinkTest, SoIsOneThatIsRefusedForNow) {
  options_.member.token_file = (folder_ / "token").string();
  replace_token("a wrong one");
  open();
  std::stop_source leaves;
  leaves.request_stop();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(link_->complete(done(Attempt(1)), leaves.get_token()));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 50s) << "it would try for a minute";
}

// A signal to one process, or a silent coordinator, ends no job.
TEST_F(CoordinatorLinkTest, AJobIsOverIfItsCoordinatorStopsItOrDoesNotKnowItAnyMore) {
  EXPECT_FALSE(link_->is_job_over());
  coordinator_.close(kJob);
  wait_until([this] { return link_->is_job_over(); });
  announce(1, 0);
  wait_until([this] { return !link_->is_job_over(); });
  link_->give_up("SIGTERM");
  EXPECT_EQ(link_->world_status(), WorldStatus::kStop);
  EXPECT_FALSE(link_->is_job_over());
  open();
  announce(1, 0, {}, true);
  wait_until([this] { return link_->is_job_over(); });
  open();
  EXPECT_FALSE(join().get()) << "it asks too late";
  EXPECT_TRUE(link_->is_job_over());
}

// The job of a process that fails, or that is told to leave, goes on with the next start, and another job
// must not get in between.
TEST_F(CoordinatorLinkTest, AProcessGivesTheClaimBackOnlyIfItsJobIsStopped) {
  link_.reset();
  const auto place = *checkpoint::RealDisk::open_folder(folder_ / "run");
  constexpr int kPreempted = static_cast<int>(ExitCode::kPreempted);
  const std::vector<std::pair<std::string, int>> endings = {
      {"a fault of the program", 1},
      {"a save that fails", static_cast<int>(ExitCode::kStorage)},
      {"a signal", kPreempted},
      {"the job is stopped", kPreempted}};
  std::uint64_t attempt = 0;
  for (const auto& [ending, exit_code] : endings) {
    SCOPED_TRACE(ending);
    std::atomic<bool> has_begun = false;
    auto code = std::async(std::launch::async, [&] {
      return train(options_, [&](Session& session) {
        for ([[maybe_unused]] const auto step : session.steps(~0ULL - 1)) {
          has_begun = true;
          if (ending == "a fault of the program") throw std::runtime_error(ending);
          if (ending == "a save that fails") throw Failure(exit_code, ending);
          if (ending == "a signal") {
            std::raise(SIGTERM);
            return;
          }
        }
      });
    });
    form(++attempt);
    wait_until([&] { return has_begun.load(); });
    if (ending == "the job is stopped") announce(attempt, 0, {}, true);
    EXPECT_EQ(code.get(), exit_code);
    EXPECT_EQ((*checkpoint::newest_claim(*place))->is_released, ending == "the job is stopped");
  }
}

TEST_F(CoordinatorLinkTest, ToldToLeaveTheProgramDoesNotWaitForTheCoordinatorAtItsEnd) {
  link_.reset();
  hangs_at_the_end_ = true;
  auto code = std::async(std::launch::async, [this] {
    return train(options_, [](Session& session) {
      for (const auto step : session.steps(3)) static_cast<void>(step);
    });
  });
  form(1, kHourly);
  wait_until([this] { return completions_ > 0; });
  std::raise(SIGTERM);
  const auto told = std::chrono::steady_clock::now();
  EXPECT_EQ(code.get(), static_cast<int>(ExitCode::kPreempted));
  EXPECT_LT(std::chrono::steady_clock::now() - told, 40s) << "it would try for a minute";
}

}  // namespace
}  // namespace ratoon::session::coordinator_link_ends_test
