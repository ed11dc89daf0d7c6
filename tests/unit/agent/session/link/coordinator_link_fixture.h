// The agent's link against a real coordinator on loopback.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/link/coordinator_link.h"
#include "base/contract/names.h"
#include "operator/coordinator/coordinator.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session {

// A process at the end of its run, whose last checkpoint is committed.
inline ProcessReport done(Attempt attempt) {
  ProcessReport position{.attempt = attempt};
  position.committed = InventoryEntry{
      .tier = "volume", .attempt = attempt, .step = position.step, .digest = "d", .is_complete = true};
  return position;
}

inline const JobKey kJob{.name_space = "default", .name = "counter"};

class CoordinatorLinkTest : public testing::Test {
 protected:
  CoordinatorLinkTest() {
    auto server = http::HttpServer::start({}, [this](http::ServerRequest request, http::Responder responder) {
      const bool is_completion = request.path == names::route::kCompleted;
      if (is_completion) ++completions_;
      const bool is_beat = request.path == names::route::kBeat;
      if ((is_completion && hangs_at_the_end_) || (is_beat && hangs_)) {
        const std::lock_guard lock(hanging_mutex_);
        return hanging_.push_back(std::move(responder));
      }
      if (request.path == names::route::kJoin && garbled_ > 0) {
        --garbled_;
        return responder.send({.status = 200, .body = garbled_answer_});
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

  void open(const LinkTimeouts& patience = {}) {
    link_.reset();
    auto link = CoordinatorLink::open(options_, calls_, patience);
    EXPECT_TRUE(link) << link.error().message();
    link_ = std::move(*link);
  }
  void announce(std::uint64_t attempt, std::uint32_t incarnation,
                std::vector<api::AssignedProcess> world = {}, bool stop = false) {
    ProcessIdentity current{.job = kJob, .role = "worker", .incarnation = incarnation};
    coordinator_.announce(kJob, {.attempt = Attempt(attempt),
                                 .world = std::move(world),
                                 .current = {current},
                                 .stop = stop,
                                 .reason = "because the test says so",
                                 .processes_per_node = 1});
  }
  // The link of worlds whose beats are not awaited: each message was sent at once.
  static constexpr double kHourly = 3600;
  std::future<Result<Assignment>> join(Attempt newest = Attempt(0)) {
    return std::async(std::launch::async, [this, newest] { return link_->join({}, newest); });
  }
  JoinRequest wait_for_joiner() {
    std::optional<JoinRequest> joiner;
    wait_until([&] {
      const auto processes = coordinator_.processes(kJob);
      if (!processes.empty()) joiner = processes.front().join_request;
      return joiner.has_value();
    });
    return joiner.value_or(JoinRequest());
  }
  // Forms the world of that attempt with the waiting process.
  void form(std::uint64_t attempt, double beat_seconds = 1) {
    const JoinRequest joiner = wait_for_joiner();
    announce(attempt, 0,
             {{.process = joiner.process,
               .assignment = {.attempt = Attempt(attempt),
                              .world_size = 1,
                              .rendezvous = joiner.address,
                              .beat_seconds = beat_seconds}}});
  }
  // Waits until the link has received orders with this attempt and this request.
  void tell(std::uint64_t attempt, std::uint64_t save_request) {
    coordinator_.announce(kJob, {.attempt = Attempt(attempt),
                                 .current = {{.job = kJob, .role = "worker"}},
                                 .save_request = save_request,
                                 .reason = "because the test says so"});
    wait_until([&] { return link_->outside_requests().save_request == save_request; });
    static_cast<void>(link_->reason());  // and is done with hearing them
  }
  // Joins as the training does: until there is a world, or the job is over.
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
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!condition() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_TRUE(condition());
  }

  std::atomic<int> refusals_ = 0;
  std::atomic<int> completions_ = 0;
  std::atomic<bool> hangs_ = false;             // beats are not answered
  std::atomic<bool> hangs_at_the_end_ = false;  // words of completion are not answered
  std::atomic<int> garbled_ = 0;                // so many calls to join are answered with
  std::string garbled_answer_;
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
       .on_change = [](const JobKey&) {},
       .long_poll_timeout = std::chrono::hours(1)}};  // what is heard was told at once
  std::unique_ptr<http::HttpServer> server_;
  Options options_;
  checkpoint::CallsWithTimeout calls_{std::chrono::hours(1), std::make_shared<SystemClock>()};
  std::unique_ptr<Link> link_;
};

}  // namespace ratoon::session
