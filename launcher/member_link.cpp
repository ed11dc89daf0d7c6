#include "launcher/member_link.h"

#include <algorithm>
#include <utility>

#include "base/contract/codec.h"
#include "base/contract/names.h"
#include "base/core/threads/pause.h"
#include "base/http/ip_literal_transport.h"

namespace ratoon::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kRetryPause = milliseconds(200);
// The pause between retries, because each retry may cost a token review by the API server or a TLS handshake.
constexpr Duration kDoubtPause = seconds(1);
constexpr Duration kDoubtMax = std::chrono::minutes(1);
constexpr Duration kPollPatience = seconds(30);  // longer than the coordinator keeps a poll open
constexpr Duration kBeatPatienceMin = seconds(1);
constexpr Duration kBeatPatienceMax = seconds(5);

std::optional<Refusal> find_refusal(const http::Response& response) {
  auto refusal = decode<Refusal>(response.body);
  return refusal ? std::optional(std::move(*refusal)) : std::nullopt;
}

}  // namespace

MemberLink::MemberLink(const MemberSettings& settings, const Clock& clock, std::function<void()> notify)
    : settings_(settings),
      clock_(clock),
      notify_(std::move(notify)),
      token_(settings.token_file, clock),
      transport_(http::make_ip_literal_transport({.tls = settings.tls})),
      since_(clock.now()),
      beating_([this](const std::stop_token& stop) { beat_until_stopped(stop); }),
      listening_([this](const std::stop_token& stop) { listen_until_stopped(stop); }),
      joining_([this](const std::stop_token& stop) { join_until_stopped(stop); }) {}

void MemberLink::join(JoinRequest request, const std::string& start) {
  const MutexLock lock(mutex_);
  start_ = start;
  wanted_ = std::move(request);
  changed_.notify_all();
}

void MemberLink::report(Attempt attempt) {
  const MutexLock lock(mutex_);
  attempt_ = attempt;
  since_ = clock_.now();
  is_beat_due_ = true;
  changed_.notify_all();
}

void MemberLink::report_end(int exit_code, Duration patience) {
  MutexLock lock(mutex_);
  exit_code_ = static_cast<std::uint64_t>(exit_code);
  is_beat_due_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, patience, [this]() RATOON_REQUIRES(mutex_) { return is_end_known_; });
}

CoordinatorNews MemberLink::take_news() {
  const MutexLock lock(mutex_);
  return std::exchange(news_, {});
}

ProcessIdentity MemberLink::identity() {
  const MutexLock lock(mutex_);
  ProcessIdentity process = settings_.process;
  process.start = start_;
  return process;
}

void MemberLink::note(const std::function<void(CoordinatorNews&)>& change) {
  {
    const MutexLock lock(mutex_);
    change(news_);
  }
  notify_();
}

void MemberLink::note_refusal(const Refusal& refusal, const std::string& start) {
  const MutexLock lock(mutex_);
  // An earlier start of the program was replaced by the current one, and calls of the earlier one may still
  // be answered.
  if (start == start_) news_.refusal = refusal;
}

Error MemberLink::note_doubt(const std::string& why) {
  const Timestamp now = clock_.now();
  const MutexLock lock(mutex_);
  if (!doubted_since_) {
    doubted_since_ = now;
    news_.words.push_back(
        "the coordinator and this member do not accept each other, and the call is repeated: " + why);
  }
  if (now - *doubted_since_ >= kDoubtMax)
    news_.not_accepted = "for a minute the coordinator and this member did not accept each other: " + why;
  return {ErrorKind::kPermissionDenied, why};
}

template <class Reply, class Message>
Result<Reply> MemberLink::exchange(std::string_view route, const Message& message, Duration patience,
                                   const std::stop_token& stop) {
  http::Request request{.method = "POST",
                        .url = settings_.coordinator_url + std::string(route),
                        .headers = {{"Content-Type", "application/json"}},
                        .body = encode(message)};
  if (const std::string token = token_.token(); !token.empty())
    request.headers.set("Authorization", "Bearer " + token);
  const auto response = transport_->call(request, {.total = patience, .silence = patience}, stop);
  if (!response && response.error().kind() == ErrorKind::kPermissionDenied) {
    auto doubt = note_doubt(response.error().message());
    notify_();
    return doubt;
  }
  const auto refusal = !response || response->status == 200 ? std::nullopt : find_refusal(*response);
  if (refusal && refusal->kind == names::refusal::kUnauthorized) {
    token_.mark_refused();
    auto doubt = note_doubt(refusal->message);
    notify_();
    return doubt;
  }
  {
    // A call without an answer does not show whether both sides accept each other, so it ends the doubt.
    const MutexLock lock(mutex_);
    doubted_since_.reset();
    news_.not_accepted.reset();
  }
  if (!response) return response.error();
  if (response->status == 200) return decode<Reply>(response->body);
  if (refusal) {
    note_refusal(*refusal, message.process.start);
    notify_();
  }
  return Error(
      ErrorKind::kUnavailable,
      refusal ? refusal->message : "the coordinator answers with status " + std::to_string(response->status));
}

Heartbeat MemberLink::next_beat() {
  Heartbeat beat{.process = identity()};
  const MutexLock lock(mutex_);
  is_beat_due_ = false;
  beat.attempt = attempt_;
  beat.sequence = ++sequence_;
  beat.phase = attempt_.value() == 0 ? ProcessPhase::kJoining : ProcessPhase::kUser;
  beat.seconds_in_phase = ratoon::seconds(clock_.now() - since_);
  beat.program_exit_code = exit_code_;
  return beat;
}

void MemberLink::beat_until_stopped(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Duration pause{0};
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, stop, [this]() RATOON_REQUIRES(mutex_) { return !start_.empty(); });
      pause = beat_pause_;
    }
    if (stop.stop_requested()) return;
    const Duration patience = std::clamp(pause, kBeatPatienceMin, kBeatPatienceMax);
    const Heartbeat beat = next_beat();
    const auto orders = exchange<Orders>(names::route::kBeat, beat, patience, stop);
    if (orders) note([&](CoordinatorNews& news) { news.orders = *orders; });
    MutexLock lock(mutex_);
    if (orders && beat.program_exit_code) {
      is_end_known_ = true;
      changed_.notify_all();
    }
    changed_.wait_for(lock, stop, beat_pause_, [this]() RATOON_REQUIRES(mutex_) { return is_beat_due_; });
  }
}

void MemberLink::listen_until_stopped(const std::stop_token& stop) {
  OrdersRequest request;
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, stop, [this]() RATOON_REQUIRES(mutex_) { return !start_.empty(); });
    }
    request.process = identity();
    const auto orders = exchange<Orders>(names::route::kOrders, request, kPollPatience, stop);
    if (orders) {
      request.seen_revision = orders->revision;
      note([&](CoordinatorNews& news) { news.orders = *orders; });
    } else if (!pause_for(orders.error().kind() == ErrorKind::kPermissionDenied ? kDoubtPause : kRetryPause,
                          stop)) {
      return;
    }
  }
}

void MemberLink::join_until_stopped(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    MutexLock lock(mutex_);
    changed_.wait(lock, stop, [this]() RATOON_REQUIRES(mutex_) { return wanted_.has_value(); });
    if (stop.stop_requested()) return;
    JoinRequest request = *wanted_;
    request.process = settings_.process;
    request.process.start = start_;
    lock.unlock();
    const auto reply = exchange<JoinReply>(names::route::kJoin, request, kPollPatience, stop);
    if (!reply) {
      const bool is_doubt = reply.error().kind() == ErrorKind::kPermissionDenied;
      if (!pause_for(is_doubt ? kDoubtPause : kRetryPause, stop)) return;
    } else if (reply->assignment) {
      lock.lock();
      wanted_.reset();
      beat_pause_ = from_seconds(reply->assignment->beat_seconds);
      lock.unlock();
      note([&](CoordinatorNews& news) { news.assignment = reply->assignment; });
    }
  }
}

}  // namespace ratoon::launcher
