// MemberLink: the connection of ratoon-launcher to the coordinator. One thread sends heartbeats, one polls
// for orders, and one asks for a place in the next world when join() was called. A coordinator that does not
// answer stops nothing: the threads repeat their calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"
#include "base/core/token_file.h"
#include "base/http/transport.h"
#include "launcher/member_settings.h"

namespace ratoon::launcher {

// What arrived since the last call of take_news(). Of orders only the newest count.
struct CoordinatorNews {
  std::optional<Assignment> assignment{};
  std::optional<Orders> orders{};
  std::optional<Refusal> refusal{};           // of the current start of the program
  std::optional<std::string> not_accepted{};  // for a minute one side has not accepted the other
  std::vector<std::string> words{};           // for the log
};

class MemberLink {
 public:
  // `notify` is called from any thread when there is news. `settings` and `clock` must outlive the link.
  MemberLink(const MemberSettings& settings, const Clock& clock, std::function<void()> notify);

  // Begins to ask for a place in a world. `start` names the start of the program.
  void join(JoinRequest request, const std::string& start);
  // Says in all heartbeats from now on that the program runs in this attempt, or, with 0, that it waits. The
  // first heartbeat is sent at once.
  void report(Attempt attempt);
  // Says in all heartbeats from now on that the program has ended with this exit code. Waits until the
  // coordinator has answered one of them, or for `patience`.
  void report_end(int exit_code, Duration patience);
  [[nodiscard]] CoordinatorNews take_news();

 private:
  template <class Reply, class Message>
  Result<Reply> exchange(std::string_view route, const Message& message, Duration patience,
                         const std::stop_token& stop);
  void beat_until_stopped(const std::stop_token& stop);
  void listen_until_stopped(const std::stop_token& stop);
  void join_until_stopped(const std::stop_token& stop);
  [[nodiscard]] Heartbeat next_beat();
  [[nodiscard]] ProcessIdentity identity();
  void note(const std::function<void(CoordinatorNews&)>& change);
  void note_refusal(const Refusal& refusal, const std::string& start);
  // Records that one side did not accept the other. Returns the error of the call.
  [[nodiscard]] Error note_doubt(const std::string& why);

  const MemberSettings& settings_;
  const Clock& clock_;
  const std::function<void()> notify_;
  TokenFile token_;
  const std::unique_ptr<http::HttpTransport> transport_;

  Mutex mutex_;
  StoppableConditionVariable changed_;
  CoordinatorNews news_ RATOON_GUARDED_BY(mutex_);
  std::string start_ RATOON_GUARDED_BY(mutex_);  // of the program; empty: join() was not called yet
  std::optional<JoinRequest> wanted_ RATOON_GUARDED_BY(mutex_);  // until there is an assignment
  Attempt attempt_ RATOON_GUARDED_BY(mutex_){0};                 // in which the program runs
  Timestamp since_ RATOON_GUARDED_BY(mutex_);                    // when attempt_ last changed
  std::uint64_t sequence_ RATOON_GUARDED_BY(mutex_) = 0;
  bool is_beat_due_ RATOON_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> exit_code_ RATOON_GUARDED_BY(mutex_);  // of the program, if it has ended
  bool is_end_known_ RATOON_GUARDED_BY(mutex_) = false;               // to the coordinator
  Duration beat_pause_ RATOON_GUARDED_BY(mutex_){std::chrono::seconds(1)};
  // All calls since then were not accepted.
  std::optional<Timestamp> doubted_since_ RATOON_GUARDED_BY(mutex_);
  std::jthread beating_;
  std::jthread listening_;
  std::jthread joining_;
};

}  // namespace ratoon::launcher
