// Makes one HTTP call over cpprestsdk; the calling thread supervises it.

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include <poll.h>

#include "base/http/client/cpprest_connection.h"
#include "base/http/client/socket_counters.h"

namespace ratoon::http {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A call fails only when cpprestsdk has read more than kCallReadAheadBytes beyond a size limit. The library
// reads up to 64 KiB at once, and may already hold 64 KiB that it has not yet passed to our code.
constexpr std::uint64_t kCallReadAheadBytes = 128 * 1024;
// While bytes arrive, we check every kReplySizeCheckPause how many bytes the library has read but not passed
// on.
constexpr std::chrono::milliseconds kReplySizeCheckPause{1};
// How long cpprestsdk may take to release a finished call before we cut its connection.
constexpr std::chrono::seconds kReleaseTimeMax{1};

class RunningCall {
 public:
  RunningCall(CpprestConnection& connection, const CallPlan& plan)
      : connection_(connection),
        plan_(plan),
        channel_(std::make_shared<ExchangeChannel>()),
        last_event_(SteadyClock::now()) {}

  CallOutcome run() {
    if (!channel_->wakeup().is_usable()) return {system_error(EMFILE, "waiting for " + plan_.url.shown), {}};
    const auto before = read_socket_counters(connection_.socket());
    {
      const std::stop_callback notify(plan_.stop, [this] { channel_->wakeup().notify(); });
      connection_.start(plan_.request, plan_.url, channel_);
      while (!ended_ && !problem_) step();
    }
    if (problem_) shut_down_socket(connection_.socket());
    drain_events();
    if (!problem_ && !ended_->is_whole) problem_ = connection_error();
    CallOutcome outcome{std::move(problem_), std::move(head_)};
    outcome.was_never_sent = is_broken_ && !ended_->is_request_invalid && connection_.was_never_sent();
    const auto after = read_socket_counters(connection_.socket());
    // The kernel counts the end of the connection as one received byte, so 1 means that there was no reply.
    outcome.has_had_no_reply = is_broken_ && !has_read_source_ && before && after &&
                               after->received_bytes <= before->received_bytes + 1;
    return outcome;
  }

 private:
  void step() {
    handle(channel_->take(false));
    if (ended_ || problem_) return;
    if (plan_.stop.stop_requested()) return fail(cancelled_error(plan_));
    check_deadline();
    check_idle_timeout();
    check_reply_size();
    if (!problem_ && !has_more_) wait_for_event();
  }

  void handle(ChannelEvent event) {
    has_more_ = !std::holds_alternative<std::monostate>(event);
    std::visit([this](auto& e) { on(e); }, event);
    if (has_more_) last_event_ = SteadyClock::now();  // a slow sink is not silence of the server
  }
  void on(std::monostate&) {}
  void on(ExchangeReleased&) { is_released_ = true; }
  void on(ExchangeEnded& ended) {
    is_broken_ = !ended.is_whole;
    ended_ = std::move(ended);
  }
  void on(HeadArrived& arrived);
  void on(BytesArrived& arrived);
  void on(BytesWanted& wanted);

  void check_deadline();
  void check_idle_timeout();
  void check_reply_size();
  void wait_for_event();
  void drain_events();
  [[nodiscard]] Error connection_error() const;

  void fail(Error error) {
    if (!problem_) problem_ = std::move(error);
  }

  CpprestConnection& connection_;
  const CallPlan& plan_;
  std::shared_ptr<ExchangeChannel> channel_;
  SteadyClock::time_point last_event_;
  std::optional<SteadyClock::time_point> silence_check_;
  std::uint64_t acked_bytes_ = 0;
  std::uint64_t taken_at_last_piece_ = 0;
  std::size_t sent_bytes_ = 0;
  ResponseHead head_;
  std::optional<ExchangeEnded> ended_;
  std::optional<Error> problem_;
  bool has_head_ = false;
  bool has_more_ = false;
  bool has_read_source_ = false;
  bool is_broken_ = false;
  bool is_released_ = false;
  bool is_flood_possible_ = false;
};

void RunningCall::on(HeadArrived& arrived) {
  has_head_ = true;
  // The library may have read more than the reply's head, so all bytes received so far count as read.
  if (const auto reading = read_socket_counters(connection_.socket()))
    taken_at_last_piece_ = reading->received_bytes;
  if (auto flaw = find_framing_flaw(arrived.head, arrived.is_http_1, plan_.limits.head_bytes_max))
    return fail(call_error(ErrorKind::kInvalid, plan_.request, plan_.url, *flaw));
  head_ = std::move(arrived.head);
  if (auto accepted = plan_.sink.on_head(head_); !accepted) problem_ = accepted.error();
}

void RunningCall::on(BytesArrived& arrived) {
  if (auto accepted = plan_.sink.on_bytes(arrived.bytes); !accepted) problem_ = accepted.error();
  if (const auto reading = read_socket_counters(connection_.socket()))
    taken_at_last_piece_ = reading->read_bytes_max;
  arrived.release_bytes();
}

void RunningCall::on(BytesWanted& wanted) {
  has_read_source_ = true;
  const std::size_t left = plan_.request.body_source->size_bytes() - sent_bytes_;
  auto count = plan_.request.body_source->read(wanted.into.first(std::min(left, wanted.into.size())));
  if (!count) {
    problem_ = count.error();
  } else if (*count == 0) {
    fail(short_body_error(plan_, sent_bytes_));
  }
  const std::size_t given = problem_ ? 0 : *count;
  sent_bytes_ += given;
  wanted.give(given);
}

void RunningCall::check_deadline() {
  if (plan_.deadline && SteadyClock::now() >= *plan_.deadline) fail(deadline_error(plan_));
}

void RunningCall::check_idle_timeout() {
  const Duration allowed = plan_.limits.silence;
  if (allowed <= Duration::zero()) return;
  const auto now = SteadyClock::now();
  if (silence_check_ && now < *silence_check_) return;
  const auto reading = read_socket_counters(connection_.socket());
  if (!reading) return;
  // Acknowledged bytes count as activity, because a server is not silent while a long upload makes progress.
  if (reading->acked_bytes != acked_bytes_) {
    acked_bytes_ = reading->acked_bytes;
    last_event_ = now;
  }
  const Duration quiet = std::min<Duration>(now - last_event_, reading->since_last_byte);
  if (quiet >= allowed) return fail(idle_timeout_error(plan_));
  silence_check_ =
      now + std::min(allowed - quiet, allowed / 8);  // often enough to notice the end of acknowledgements
}

// The library buffers the whole head of a reply, and each whole chunk of its body, without a limit.
void RunningCall::check_reply_size() {
  const auto before_reply = connection_.bytes_read_before_reply();
  if (!before_reply) return;
  const std::uint64_t since = std::max(*before_reply, taken_at_last_piece_);
  const std::size_t allowed = has_head_ ? plan_.limits.body_bytes_max : plan_.limits.head_bytes_max;
  const auto reading = read_socket_counters(connection_.socket());
  if (!reading || reading->read_bytes_min <= since + allowed + kCallReadAheadBytes) return;
  // If the library has posted another event by now, the counted bytes may belong to the next part of the
  // reply. Count first and check for a new event afterwards, so that an event during the count is noticed.
  if (channel_->has_event()) return;
  fail(too_long_reply_error(plan_, has_head_ ? "chunk" : "head", allowed));
}

void RunningCall::wait_for_event() {
  std::optional<SteadyClock::time_point> until = plan_.deadline;
  if (silence_check_) until = until ? std::min(*until, *silence_check_) : *silence_check_;
  Duration left = until ? std::max<Duration>(*until - SteadyClock::now(), Duration::zero()) : Duration(-1);
  if (is_flood_possible_ && (left > kReplySizeCheckPause || left < Duration::zero()))
    left = kReplySizeCheckPause;

  // A waiting call uses no CPU time until the first byte arrives. While bytes arrive, we check the size of
  // the reply every millisecond.
  pollfd entries[] = {{channel_->wakeup().fd(), POLLIN, 0}, {connection_.socket(), POLLIN, 0}};
  const timespec timeout{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
  const nfds_t watched = is_flood_possible_ ? 1 : 2;
  ::ppoll(entries, watched, left < Duration::zero() ? nullptr : &timeout, nullptr);
  if (is_flood_possible_) {
    is_flood_possible_ = has_input(connection_.socket());
  } else {
    is_flood_possible_ = entries[1].revents != 0;
  }
  channel_->wakeup().clear();
}

// Answers the library's remaining requests until the library can no longer use the request or the sink.
void RunningCall::drain_events() {
  const auto cut_at = SteadyClock::now() + kReleaseTimeMax;
  bool is_cut = problem_.has_value();
  while (!is_released_) {
    auto event = channel_->take(true);
    if (auto* bytes = std::get_if<BytesArrived>(&event)) bytes->release_bytes();
    if (auto* wanted = std::get_if<BytesWanted>(&event)) wanted->give(0);
    if (std::holds_alternative<ExchangeReleased>(event)) is_released_ = true;
    if (!std::holds_alternative<std::monostate>(event)) continue;
    if (!is_cut && SteadyClock::now() >= cut_at) {
      shut_down_socket(connection_.socket());
      is_cut = true;
    }
    pollfd entry{channel_->wakeup().fd(), POLLIN, 0};
    ::poll(&entry, 1, is_cut ? -1 : 100);
    channel_->wakeup().clear();
  }
}

Error RunningCall::connection_error() const {
  if (ended_->is_request_invalid) {
    return call_error(ErrorKind::kInvalid, plan_.request, plan_.url, "cannot be made: " + ended_->problem);
  }
  BrokenExchange broken{.problem = ended_->problem,
                        .code = ended_->code,
                        .certificate_problem = connection_.certificate_problem(),
                        .expected_name = connection_.expected_name()};
  const bool is_refused_by_tls = !broken.certificate_problem.empty() || !tls_reason(broken.code).empty();
  if (!is_refused_by_tls && ended_->problem.starts_with("Invalid "))
    return not_http_error(plan_, ended_->problem);
  return broken_connection_error(plan_, broken);
}

}  // namespace

CallOutcome CpprestConnection::run(const CallPlan& plan) {
  return RunningCall(*this, plan).run();
}

}  // namespace ratoon::http
