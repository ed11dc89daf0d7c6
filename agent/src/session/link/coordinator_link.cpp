#include "agent/src/session/link/coordinator_link.h"

#include <algorithm>

#include <unistd.h>

#include "agent/src/session/link/lifeline.h"
#include "agent/src/session/link/member_token.h"
#include "agent/src/session/locations/rollback_plan.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/telemetry/say.h"
#include "base/contract/codec.h"
#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "base/core/log.h"
#include "base/core/never_destroyed.h"
#include "base/core/random_name.h"
#include "base/core/threads/pause.h"

namespace ratoon::session {
namespace {

constexpr Duration kRetryPause = std::chrono::milliseconds(200);
// kAuthRetryPause is long, because each retry may cause a token review by the API server or a TLS handshake.
constexpr Duration kAuthRetryPause = std::chrono::seconds(1);
constexpr Duration kOrphanGrace = std::chrono::seconds(10);
constexpr Duration kBeatTimeoutMin = std::chrono::seconds(1);  // and of the last one, which delays the end
// The computed time limit of a step is ten times its usual duration. If a process must leave its attempt, its
// current step may take twice the usual duration, a fifth of the computed limit.
constexpr int kStepLimitDivisor = 5;
constexpr Duration kCompleteRetryTimeout = std::chrono::seconds(60);

const Clock& system_clock() {
  static const NeverDestroyed<SystemClock> clock;
  return *clock;
}

std::optional<Refusal> find_refusal(const Result<http::Response>& response) {
  if (!response || response->status == 200) return std::nullopt;
  auto refusal = decode<Refusal>(response->body);
  return refusal ? std::optional(std::move(*refusal)) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Link>> CoordinatorLink::open(const Options& all, checkpoint::CallsWithTimeout& calls,
                                                    const LinkTimeouts& patience,
                                                    const std::function<bool()>& goes_on) {
  const MemberOptions& options = all.member;
  if (auto held = take_lifeline(options.lifeline_fd); !held) return held.error();
  auto locks = lock_folders(all, FolderUse::kShared, calls, {.goes_on = goes_on});
  if (!locks) return locks.error();
  auto token = open_token_file(options, system_clock());
  if (!token) return token.error();
  auto meeting = open_rendezvous_socket(options.pod_ip);
  if (!meeting) return meeting.error();
  auto start = random_hex_secret(16);
  if (!start) return start.error();
  ProcessIdentity process{.job = {.name_space = options.job_namespace, .name = options.job_name},
                          .role = options.role,
                          .index = options.index,
                          .incarnation = options.incarnation,
                          .member_uid = options.member_uid,
                          .local_rank = options.local_rank,
                          .start = *std::move(start)};
  return std::unique_ptr<Link>(new CoordinatorLink(all, *std::move(locks), std::move(process),
                                                   *std::move(token), std::move(*meeting), patience));
}

CoordinatorLink::CoordinatorLink(const Options& options, FolderLocks folder_locks, ProcessIdentity process,
                                 std::unique_ptr<TokenFile> token, RendezvousSocket meeting,
                                 const LinkTimeouts& patience)
    : options_(options.member),
      rollback_(requested_rollback(options)),
      save_location_(home_location(options)),
      leave_timeout_(std::chrono::seconds(options.hang.leave_seconds)),
      folder_locks_(std::move(folder_locks)),
      process_(std::move(process)),
      token_(std::move(token)),
      rendezvous_socket_(std::move(meeting)),
      timeouts_(patience),
      transport_(http::make_transport(
          {.tls = {.ca_pem = options_.coordinator_ca, .server_name = options_.coordinator_name}})),
      unreadable_messages_(system_clock()),
      lifeline_fd_(options_.lifeline_fd),
      phase_since_(system_clock().now()),
      last_beat_at_(phase_since_),
      world_wait_(patience.log_wait_after),
      peer_watch_(
          patience.peers, [this] { return waits_for_ranks_since(); },
          [this](bool is_any_unreachable) { note_peers(is_any_unreachable); }),
      beat_thread_([this](const std::stop_token& stop) { send_beats_until_stopped(stop); }),
      orders_thread_([this](const std::stop_token& stop) { poll_orders_until_stopped(stop); }) {}

CoordinatorLink::~CoordinatorLink() = default;

template <class Reply, class Message>
Result<Reply> CoordinatorLink::exchange(std::string_view route, const Message& message, Duration patience,
                                        const std::stop_token& stop) {
  http::Request request{.method = "POST",
                        .url = options_.coordinator_url + std::string(route),
                        .headers = {{"Content-Type", "application/json"}},
                        .body = encode(message)};
  if (const std::string token = token_->token(); !token.empty())
    request.headers.set("Authorization", "Bearer " + token);
  const auto response = transport_->call(request, {.total = patience, .silence = patience}, stop);
  if (const auto why = find_identity_error(response))
    return note_auth_failure(
        "the server that answers is not accepted as the coordinator; no message is sent, and the call is "
        "repeated",
        *why);
  const auto refusal = find_refusal(response);
  if (refusal && refusal->kind == names::refusal::kUnauthorized) {
    token_->mark_refused();
    return note_auth_failure(
        "the coordinator does not accept the token of this process; the token is read and sent again",
        refusal->message);
  }
  clear_auth_failure();
  if (!response) {
    if (response.error().kind() != ErrorKind::kCancelled) note_no_answer(response.error());
    return response.error();
  }
  if (response->status == 200) {
    auto answer = unreadable_messages_.read<Reply>(route, response->body);
    if (answer) note_answer();
    return answer;
  }
  if (!refusal)
    return Error(ErrorKind::kUnavailable,
                 "the coordinator answers with status " + std::to_string(response->status));
  if (refusal->kind == names::refusal::kBadMessage)
    return unreadable_messages_.refused(route, refusal->message);
  handle_answer(*refusal);
  // Some refusals are temporary, because a new leader of the coordinators may not know the job yet.
  const bool may_change =
      refusal->kind == names::refusal::kNotLeader || refusal->kind == names::refusal::kUnknownJob;
  return Error(may_change ? ErrorKind::kUnavailable : ErrorKind::kInvalid, refusal->message);
}

void CoordinatorLink::handle_answer(const Orders& orders) {
  if (orders.stop) return note_job_stopped(orders.reason);
  const MutexLock lock(mutex_);
  if (orders.attempt >= newest_ordered_attempt_) {  // two threads receive orders: older ones may arrive later
    save_request_.store(orders.save_request);
    hand_over_attempt_.store(orders.hand_over ? orders.attempt.value() : 0);
    const auto& drain = orders.drain_deadline_seconds;
    drain_deadline_.store(drain ? system_clock().now() + from_seconds(*drain) : kNoDeadline);
  }
  newest_ordered_attempt_ = std::max(newest_ordered_attempt_, orders.attempt);
  if (position_.attempt.value() == 0 || newest_ordered_attempt_ <= position_.attempt) return;
  if (world_status_.load() != WorldStatus::kGoOn) return;
  status_reason_ = orders.reason;
  has_hung_rank_.store(orders.hung);
  ordered_to_leave_at_ = system_clock().now();
  world_status_.store(WorldStatus::kWorldChanged);  // the last of them: its readers do not hold the mutex
}

CoordinatorRequests CoordinatorLink::outside_requests() const {
  CoordinatorRequests wanted{.save_request = save_request_, .hand_over = Attempt(hand_over_attempt_)};
  if (const Timestamp deadline = drain_deadline_.load(); deadline != kNoDeadline)
    wanted.drain_deadline = deadline;
  return wanted;
}

void CoordinatorLink::log_wait_reason(const std::string& what) {
  const Timestamp now = system_clock().now();
  if (!world_wait_.is_report_due(now)) return;
  const Logger logger(system_clock(), {.format = LogFormat::kText});
  logger.info("waiting for an assignment to an attempt",
              {{"for", what}, {"waited_seconds", seconds(world_wait_.waited(now))}});
}

void CoordinatorLink::pause_before_rejoin() {
  const Duration pause = std::max(retry_pause(), world_wait_.pause_after_failure());
  MutexLock lock(mutex_);
  const std::uint64_t before = answer_count_;
  const bool was_away = std::exchange(answer_count_at_failure_, before) == before;
  answer_arrived_.wait_for(lock, leave_source_.get_token(), pause,
                           [&]() RATOON_REQUIRES(mutex_) { return was_away && answer_count_ != before; });
}

Duration CoordinatorLink::retry_pause() const {
  const MutexLock lock(mutex_);
  return auth_failed_since_ ? kAuthRetryPause : kRetryPause;
}

void CoordinatorLink::set_world_status(WorldStatus world_status, const std::string& reason) {
  const MutexLock lock(mutex_);
  if (world_status_.load() == WorldStatus::kFenced) return;
  if (world_status_.exchange(world_status) != world_status) ordered_to_leave_at_ = system_clock().now();
  leave_source_.request_stop();
  status_reason_ = reason;
}

std::string CoordinatorLink::reason() const {
  const MutexLock lock(mutex_);
  return status_reason_;
}

void CoordinatorLink::note_position(const ProcessReport& position) {
  const MutexLock lock(mutex_);
  phase_since_ = system_clock().now();
  const bool is_news = position.committed != position_.committed || position.milestone != position_.milestone;
  position_ = position;
  if (is_news) beat_wakeup_.notify();
}

void CoordinatorLink::begin_listing() {
  listing_began_ = system_clock().now();
}

Result<Assignment> CoordinatorLink::join(const std::vector<InventoryEntry>& inventory,
                                         Attempt newest_attempt) {
  const Timestamp listed = listing_began_.value_or(system_clock().now());
  JoinRequest request{.process = process_,
                      .processes_per_node = options_.processes_per_node,
                      .address = format_address(rendezvous_socket_.at),
                      .inventory = inventory,
                      .rollback = rollback_,
                      .threads = threads(),
                      .save_location = save_location_};
  {
    const MutexLock lock(mutex_);
    note_ended_attempt(position_.attempt, position_.step);
    note_ended_attempt(newest_attempt, Step(0));  // the step is unknown
    request.left_attempt = left_attempt_;
    request.left_step = left_step_;
    request.has_been_in_world = has_been_in_world_;
    position_.attempt = Attempt(0);  // in no world while joining
    position_.phase = ProcessPhase::kJoining;
    position_.allowed.reset();
    position_.is_doing_final_work = true;
    position_.milestone = Milestone::kNone;
    phase_since_ = system_clock().now();
    WorldStatus expected = WorldStatus::kWorldChanged;
    world_status_.compare_exchange_strong(expected, WorldStatus::kGoOn);
    has_hung_rank_.store(false);
  }
  peer_watch_.set_peers({});
  world_wait_.begin(system_clock().now());
  while (world_status() == WorldStatus::kGoOn) {
    request.inventory_age_seconds = seconds(system_clock().now() - listed);
    const auto reply =
        exchange<JoinReply>(names::route::kJoin, request, timeouts_.poll, leave_source_.get_token());
    if (!reply && !reply.error().is_retryable()) return reply.error();
    if (!reply && world_status() == WorldStatus::kGoOn) {
      log_wait_reason(reply.error().message());
      pause_before_rejoin();
      return reply.error();
    }
    world_wait_.note_answer();
    if (reply && !reply->assignment) {
      call_waiting_callback();
      log_wait_reason(reply->waiting_for);
    }
    if (reply && reply->assignment) {
      world_wait_.end();
      peer_watch_.set_peers(reply->assignment->peers);
      const MutexLock lock(mutex_);
      beat_pause_ = from_seconds(reply->assignment->beat_seconds);
      request.has_been_in_world = has_been_in_world_ = true;
      if (newest_ordered_attempt_ <= reply->assignment->attempt) {
        position_.attempt = reply->assignment->attempt;
        const auto& resume = reply->assignment->resume;
        position_.step = resume ? resume->step : Step(0);  // else beats would report that of the last world
        return *reply->assignment;
      }
      // This assignment was outdated before it arrived: newer orders would end its attempt at once.
      note_ended_attempt(reply->assignment->attempt, Step(0));
      request.left_attempt = left_attempt_;
      request.left_step = left_step_;
    }
  }
  return Error(ErrorKind::kCancelled, reason());
}

Result<void> CoordinatorLink::complete(const ProcessReport& position, const std::stop_token& leaves) {
  if (!position.committed || position.committed->step != position.step)
    return Error(ErrorKind::kInvalid, "the last step of the run has no committed checkpoint");
  const InventoryEntry& last = *position.committed;
  Completed message{.process = process_,
                    .attempt = position.attempt,
                    .step = position.step,
                    .checkpoint = {.attempt = last.attempt, .step = last.step, .digest = last.digest},
                    .result = {}};
  if (!position.weights.empty()) message.result[kWeightsKey] = position.weights;
  if (!position.finish_reason.empty()) message.result[kFinishReasonKey] = position.finish_reason;
  WorldWait wait(timeouts_.log_wait_after);
  wait.begin(system_clock().now());
  const Timestamp give_up = system_clock().now() + kCompleteRetryTimeout;
  for (;;) {
    const auto reply = exchange<Orders>(names::route::kCompleted, message, timeouts_.poll, leaves);
    // kStop may mean that an earlier report arrived but its answer was lost, and that the job is over.
    if (reply || world_status() == WorldStatus::kStop) return {};
    if (!reply.error().is_retryable() || system_clock().now() > give_up) return reply.error();
    if (wait.is_report_due(system_clock().now()))
      say("the run is complete, but the report to the coordinator has failed and is repeated: " +
          reply.error().message());
    if (!pause_for(retry_pause(), leaves)) return reply.error();
  }
}

std::optional<Timestamp> CoordinatorLink::waits_for_ranks_since() const {
  const MutexLock lock(mutex_);
  const bool waits = position_.attempt.value() > 0 && position_.phase == ProcessPhase::kCollective;
  return waits ? std::optional(phase_since_) : std::nullopt;
}

void CoordinatorLink::note_peers(bool is_any_unreachable) {
  if (!is_any_unreachable) {
    // Restart the phase's measured time: the network was interrupted, and connections need time to recover.
    const MutexLock lock(mutex_);
    if (position_.phase == ProcessPhase::kCollective) phase_since_ = system_clock().now();
  }
  beat_wakeup_.notify();
}

Heartbeat CoordinatorLink::next_beat() {
  const auto waits_since = waits_for_ranks_since();
  auto unreachable = waits_since ? peer_watch_.unreachable(*waits_since) : std::vector<std::string>();
  const MutexLock lock(mutex_);
  const Timestamp now = system_clock().now();
  const Duration elapsed = now - std::exchange(last_beat_at_, now);
  // If this process or its machine was suspended, the measured time of the phase starts again at 0.
  if (elapsed > 2 * (beat_pause_.load() + timeouts_.beat_max)) phase_since_ = ordered_to_leave_at_ = now;
  return {.process = process_,
          .attempt = position_.attempt,
          .sequence = ++heartbeat_sequence_,
          .step = position_.step,
          .phase = position_.phase,
          .seconds_in_phase = seconds(now - phase_since_),
          .allowed_seconds = position_.allowed ? std::optional(seconds(*position_.allowed)) : std::nullopt,
          .committed = position_.committed,
          .damaged = position_.damaged,
          .unreachable_peers = std::move(unreachable),
          .outlook = position_.outlook,
          .save_seconds = position_.save_seconds_at(now)};
}

void CoordinatorLink::send_beats_until_stopped(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { beat_wakeup_.notify(); });
  bool is_last = false;
  while (!is_last) {
    is_last = stop.stop_requested();  // one more beat reports what was committed at the very end
    const Duration pause = beat_pause_.load();
    const Duration patience =
        is_last ? kBeatTimeoutMin : std::min(std::max(pause, kBeatTimeoutMin), timeouts_.beat_max);
    if (const auto orders = exchange<Orders>(names::route::kBeat, next_beat(), patience, {}))
      handle_answer(*orders);
    if (!is_last && !stop.stop_requested()) sleep_until_beat_needed(pause);
  }
}

void CoordinatorLink::poll_orders_until_stopped(const std::stop_token& stop) {
  OrdersRequest request{.process = process_};
  while (!stop.stop_requested()) {
    const auto orders = exchange<Orders>(names::route::kOrders, request, timeouts_.poll, stop);
    if (orders) {
      request.seen_revision = orders->revision;
      handle_answer(*orders);
    } else if (!stop.stop_requested()) {
      std::this_thread::sleep_for(retry_pause());
    }
  }
}

void CoordinatorLink::exit_if_stuck() const {
  MutexLock lock(mutex_);
  if (world_status_.load() == WorldStatus::kGoOn || position_.is_doing_final_work) return;
  // Let a step of usual duration end, because ending the process would cost more time than the step.
  const auto limit = std::max(leave_timeout_, position_.allowed.value_or(Duration(0)) / kStepLimitDivisor);
  if (system_clock().now() - std::max(ordered_to_leave_at_, phase_since_) <= limit) return;
  const auto say = [reason = status_reason_, phase = position_.phase, step = position_.step.value(), limit] {
    Logger(system_clock(), {.format = LogFormat::kText})
        .error(
            "this process was ordered to leave its world but makes no progress: it exits so that a new "
            "process can start",
            {{"reason", reason},
             {"phase", std::string(name_of(phase))},
             {"step", step},
             {"patience_seconds", seconds(limit)}});
  };
  lock.unlock();
  exit_after_log_line(ExitCode::kStartAgain, say);
}

void CoordinatorLink::sleep_until_beat_needed(Duration at_most) {
  exit_if_stuck();
  // If the runner has ended, end the process even within a step: the next run may already use the folder.
  if (orphaned_at_ && system_clock().now() - *orphaned_at_ > kOrphanGrace)
    ::_exit(static_cast<int>(ExitCode::kPreempted));
  if (beat_wakeup_.sleep(at_most, lifeline_fd_) != InterruptibleSleep::kLifelineEnded) return;
  lifeline_fd_ = -1;  // it stays ended
  orphaned_at_ = system_clock().now();
  note_job_stopped("the runner that started this process has ended");
}

}  // namespace ratoon::session
