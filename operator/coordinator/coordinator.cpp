#include "operator/coordinator/coordinator.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/contract/codec.h"
#include "base/contract/names.h"

namespace ratoon::coordinator {
namespace {

constexpr Duration kTickInterval = std::chrono::milliseconds(100);
// If the timer thread runs late by more than this, the machine or this process has stalled, and heartbeats of
// all members may be waiting unread in sockets.
constexpr Duration kStallThreshold = std::chrono::seconds(1);
// An agent needs two or three connections, and opens new ones while it closes old ones.
constexpr std::size_t kConnectionsPerProcess = 8;
// How long the coordinator delays its answer to a member that sends requests too often.
constexpr Duration kAnswerDelay = std::chrono::seconds(1);
// How often the coordinator searches the waiting calls for callers that have disconnected.
constexpr Duration kFullScanInterval = std::chrono::seconds(2);

template <class Message>
void reply(http::Responder& responder, int status, const Message& message) {
  responder.send(
      {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = encode(message)});
}

void refuse(http::Responder& responder, int status, std::string kind, std::string message) {
  reply(responder, status, Refusal{.kind = std::move(kind), .message = std::move(message)});
}

// The server counts a member's connections for its pod (the owner) and for its namespace (the tenant).
http::ConnectionOwner connection_owner_of(const ProcessIdentity& process, std::size_t processes) {
  return {.tenant = process.job.name_space,
          .name = process.member_uid,
          .connections_max = kConnectionsPerProcess * processes};
}

int http_status_of(const Refusal& refusal) {
  return refusal.kind == names::refusal::kUnauthorized ? 401 : 409;
}

// Adds the world's secret to its assignments. If the world was announced before, it keeps its secret, because
// some members already have this secret. If the system provides no random secret, the coordinator sends no
// assignment, and a new attempt follows.
api::Announcement with_world_secret(api::Announcement announcement,
                                    const std::vector<api::AssignedProcess>& before,
                                    const std::function<Result<std::string>()>& draw) {
  auto& world = announcement.world;
  if (world.empty()) return announcement;
  std::string secret = world.front().assignment.secret;
  if (secret.empty() && !before.empty() &&
      before.front().assignment.attempt == world.front().assignment.attempt)
    secret = before.front().assignment.secret;
  if (secret.empty()) secret = draw().value_or(std::string());
  if (secret.empty()) world.clear();
  for (auto& seat : world) seat.assignment.secret = secret;
  return announcement;
}

// Replies with status 503 instead of a Refusal: agents of every version then list their checkpoints again and
// repeat the request.
void request_checkpoint_list(http::Responder& responder) {
  responder.send({.status = 503,
                  .body =
                      "a world is about to form, and this process listed its checkpoints too long ago: list "
                      "them again and repeat the request\n"});
}

}  // namespace

std::string_view bearer_token(const http::ServerRequest& request) {
  constexpr std::string_view kPrefix = "Bearer ";
  const std::string_view value = request.headers.get("Authorization");
  return value.starts_with(kPrefix) ? value.substr(kPrefix.size()) : std::string_view();
}

Coordinator::Coordinator(const Clock& clock, CoordinatorOptions options)
    : clock_(clock),
      options_(std::move(options)),
      last_tick_(clock.now()),
      last_tick_wall_time_(clock.wall_now()),
      listening_since_(last_tick_),
      timer_thread_([this](const std::stop_token& stop) { run_timer(stop); }) {}

Coordinator::~Coordinator() = default;

void Coordinator::handle(const http::ServerRequest& request, http::Responder responder) {
  if (request.method != "POST") {
    return refuse(responder, 405, names::refusal::kBadMessage,
                  request.path + " accepts only POST, not " + request.method);
  }
  if (request.path == names::route::kJoin) return serve<JoinRequest>(request, std::move(responder));
  if (request.path == names::route::kBeat) return serve<Heartbeat>(request, std::move(responder));
  if (request.path == names::route::kOrders) return serve<OrdersRequest>(request, std::move(responder));
  if (request.path == names::route::kCompleted) return serve<Completed>(request, std::move(responder));
  refuse(responder, 404, names::refusal::kBadMessage, "the coordinator has no route " + request.path);
}

template <class Message>
void Coordinator::serve(const http::ServerRequest& request, http::Responder responder) {
  const Result<Message> message = decode<Message>(request.body);
  if (!message) return refuse(responder, 422, names::refusal::kBadMessage, message.error().message());
  if (const auto known = options_.authenticate(bearer_token(request), message->process); !known) {
    if (known.error().kind() != ErrorKind::kPermissionDenied) {
      // Replies with status 503 and not with a Refusal, so that the agent tries again. The member does not
      // count as silent: it did send a message, but the operator could not authenticate that message.
      note_failed_authentication(message->process);
      return responder.send({.status = 503, .body = known.error().message() + "\n"});
    }
    return refuse(responder, 401, names::refusal::kUnauthorized, known.error().message());
  }
  bool is_news = false;
  ++message_count_;
  const JobEntryPtr entry = find_job(message->process.job);
  if (entry == nullptr) {
    // If the member's namespace has too many connections, the server leaves this connection unauthenticated.
    static_cast<void>(responder.mark_authenticated(connection_owner_of(message->process, 1)));
    return refuse(responder, 404, names::refusal::kUnknownJob,
                  "no TrainingJob " + message->process.job.name_space + "/" + message->process.job.name +
                      " is served by this operator");
  }
  {
    const MutexLock lock(entry->mutex);
    if (!is_within_rate(*entry, message->process, responder)) return;
    constexpr bool kIsJoin = std::is_same_v<Message, JoinRequest>;
    const auto refusal = kIsJoin ? entry->session.find_join_refusal(message->process)
                                 : entry->session.refuse(message->process);
    if (refusal) return reply(responder, http_status_of(*refusal), *refusal);
    is_news = answer_or_park(*entry, *message, responder);
  }
  if (is_news) options_.on_change(message->process.job);
}

bool Coordinator::answer_or_park(JobEntry& entry, const JoinRequest& message, http::Responder& responder) {
  if (entry.session.record_join(message, clock_.now())) entry.needs_full_scan = true;
  if (const auto assignment = entry.session.take_assignment(message.process)) {
    reply(responder, 200, JoinReply{.assignment = assignment, .waiting_for = ""});
    return false;
  }
  if (entry.session.take_checkpoint_list_request(message.process)) {
    request_checkpoint_list(responder);
    return false;
  }
  park_poll(entry, message.process, AwaitedAnswer::kAssignment, 0, responder);
  return true;
}

bool Coordinator::answer_or_park(JobEntry& entry, const Heartbeat& message, http::Responder& responder) {
  const bool is_news = entry.session.record_beat(message, clock_.now());
  reply(responder, 200, entry.session.orders(message.process, clock_.wall_now()));
  return is_news;
}

bool Coordinator::answer_or_park(JobEntry& entry, const OrdersRequest& message, http::Responder& responder) {
  const Orders orders = entry.session.orders(message.process, clock_.wall_now());
  if (orders.revision != message.seen_revision) {
    reply(responder, 200, orders);
  } else {
    park_poll(entry, message.process, AwaitedAnswer::kNewOrders, message.seen_revision, responder);
  }
  return false;
}

bool Coordinator::answer_or_park(JobEntry& entry, const Completed& message, http::Responder& responder) {
  if (const auto refusal = entry.session.find_completion_refusal(message)) {
    reply(responder, http_status_of(*refusal), *refusal);
    return false;
  }
  entry.session.record_completed(message, clock_.now());
  if (entry.session.is_recorded_as_completed(message.process)) {
    reply(responder, 200, entry.session.orders(message.process, clock_.wall_now()));
  } else {
    park_poll(entry, message.process, AwaitedAnswer::kRecordedCompletion, 0, responder);
  }
  return true;
}

bool Coordinator::is_within_rate(JobEntry& entry, const ProcessIdentity& process,
                                 http::Responder& responder) {
  const std::size_t processes = entry.session.announcement().processes_per_node;
  if (!responder.mark_authenticated(connection_owner_of(process, processes))) {
    static_cast<void>(
        entry.session.record_unauthenticated(process, clock_.now()));  // it does not count as silent
    responder.send({.status = 503,
                    .headers = {{"Retry-After", "1"}},
                    .body = "the jobs of this namespace have too many connections: call again later\n"});
    return false;
  }
  const Timestamp now = clock_.now();
  if (entry.rate_limiter.take(process.member_uid, processes, now)) return true;
  entry.delayed_answers.push_back({now + kAnswerDelay, std::move(responder)});
  return false;
}

void Coordinator::park_poll(JobEntry& entry, const ProcessIdentity& process, AwaitedAnswer awaited,
                            std::uint64_t seen_revision, http::Responder& responder) {
  entry.parked.park_poll(
      {process, awaited, seen_revision, clock_.now() + options_.long_poll_timeout, std::move(responder)});
}

bool Coordinator::answer(JobEntry& entry, ParkedPoll& poll, Timestamp now) {
  if (poll.responder.is_abandoned()) return true;
  const bool is_join = poll.awaited_answer == AwaitedAnswer::kAssignment;
  const auto refusal =
      is_join ? entry.session.find_join_refusal(poll.process) : entry.session.refuse(poll.process);
  if (refusal) {
    reply(poll.responder, http_status_of(*refusal), *refusal);
    return true;
  }
  if (!is_join) {
    const Orders orders = entry.session.orders(poll.process, clock_.wall_now());
    const bool is_due = poll.awaited_answer == AwaitedAnswer::kNewOrders
                            ? orders.revision != poll.seen_revision
                            : entry.session.is_recorded_as_completed(poll.process);
    if (!is_due && now < poll.reply_deadline) return false;
    reply(poll.responder, 200, orders);
    return true;
  }
  const auto assignment = entry.session.take_assignment(poll.process);
  if (!assignment && entry.session.take_checkpoint_list_request(poll.process)) {
    request_checkpoint_list(poll.responder);
    return true;
  }
  if (!assignment && now < poll.reply_deadline) return false;
  reply(poll.responder, 200,
        JoinReply{.assignment = assignment, .waiting_for = entry.session.announcement().reason});
  return true;
}

// Replies to waiting polls. After a change of the job, checks all polls. Also checks all polls once in each
// kFullScanInterval, in order to find callers that have disconnected. At other times, checks only polls whose
// deadline has passed.
void Coordinator::answer_parked_polls(JobEntry& entry, Timestamp now) {
  for (; !entry.delayed_answers.empty() && entry.delayed_answers.front().due <= now;
       entry.delayed_answers.pop_front())
    entry.delayed_answers.front().responder.send({.status = 503,
                                                  .headers = {{"Retry-After", "1"}},
                                                  .body = "this member calls too often: call again later\n"});
  const auto answer_one = [&](ParkedPoll& poll)
                              RATOON_REQUIRES(entry.mutex) { return answer(entry, poll, now); };
  if (!entry.needs_full_scan && now - entry.last_full_scan_at < kFullScanInterval)
    return entry.parked.answer_due(now, answer_one);
  entry.needs_full_scan = false;
  entry.last_full_scan_at = now;
  entry.rate_limiter.forget_idle_members(now);
  entry.parked.answer_all(answer_one);
}

void Coordinator::announce(const JobKey& job, const api::Announcement& announcement) {
  JobEntryPtr entry;
  {
    const MutexLock lock(mutex_);
    auto& found = jobs_[job];
    if (found == nullptr) {
      const auto opened_at = std::chrono::floor<std::chrono::milliseconds>(clock_.wall_now().since_epoch);
      const JobSession session(static_cast<std::uint64_t>(std::max<std::int64_t>(0, opened_at.count())));
      const Timestamp now = clock_.now();
      found = std::make_shared<JobEntry>(now, session, options_.limits);
    }
    entry = found;
  }
  const MutexLock lock(entry->mutex);
  const Timestamp now = clock_.now();
  if (entry->session.announce(
          with_world_secret(announcement, entry->session.announcement().world, options_.draw)))
    entry->needs_full_scan = true;
  answer_parked_polls(*entry, now);
}

void Coordinator::close(const JobKey& job) {
  const MutexLock lock(mutex_);
  jobs_.erase(job);
}

void Coordinator::forget_processes(const JobKey& job) {
  const JobEntryPtr entry = find_job(job);
  if (entry == nullptr) return;
  const MutexLock lock(entry->mutex);
  entry->session.forget_processes();
}

Coordinator::JobEntryPtr Coordinator::find_job(const JobKey& job) const {
  const MutexLock lock(mutex_);
  const auto entry = jobs_.find(job);
  return entry == jobs_.end() ? nullptr : entry->second;
}

std::vector<Coordinator::JobEntryPtr> Coordinator::all_jobs() const {
  std::vector<JobEntryPtr> entries;
  const MutexLock lock(mutex_);
  for (const auto& [job, entry] : jobs_) entries.push_back(entry);
  return entries;
}

void Coordinator::note_failed_authentication(const ProcessIdentity& process) {
  const JobEntryPtr entry = find_job(process.job);
  if (entry == nullptr) return;
  const MutexLock lock(entry->mutex);
  const Timestamp now = clock_.now();
  if (!entry->session.record_unauthenticated(process, now)) entry->authentication_failed_at = now;
}

void Coordinator::note_discarded_messages() {
  const MutexLock lock(mutex_);
  messages_discarded_at_ = clock_.now();
}

std::vector<api::ProcessFacts> Coordinator::processes(const JobKey& job) const {
  const JobEntryPtr entry = find_job(job);
  if (entry == nullptr) return {};
  const MutexLock lock(entry->mutex);
  return entry->session.processes();
}

std::vector<api::AssignedProcess> Coordinator::world(const JobKey& job) const {
  const JobEntryPtr entry = find_job(job);
  if (entry == nullptr) return {};
  const MutexLock lock(entry->mutex);
  return entry->session.announcement().world;
}

Timestamp Coordinator::listening_since(const JobKey& job) const {
  Timestamp listening;
  Timestamp unread;
  JobEntryPtr entry;
  {
    const MutexLock lock(mutex_);
    const auto found = jobs_.find(job);
    const Timestamp now = clock_.now();
    // After a stall this function may run before the timer thread detects the stall, so check for a stall
    // here, too.
    if (found == jobs_.end() || has_stalled(now, clock_.wall_now())) return now;
    entry = found->second;
    listening = std::max(listening_since_, entry->tracked_since);
    unread = messages_discarded_at_;
  }
  const MutexLock lock(entry->mutex);
  unread = std::max(unread, entry->authentication_failed_at);
  return unread > listening && entry->session.is_any_member_unheard() ? unread : listening;
}

Coordinator::Load Coordinator::load() const {
  Load load{.messages = message_count_};
  for (const auto& entry : all_jobs()) {
    const MutexLock lock(entry->mutex);
    load.parked += entry->parked.size();
  }
  return load;
}

// While a machine sleeps, its steady clock stops and its wall clock does not: the difference shows the sleep.
bool Coordinator::has_stalled(Timestamp now, WallTime wall_now) const {
  const Duration passed = now - last_tick_;
  return passed > kStallThreshold ||
         wall_now.since_epoch - last_tick_wall_time_.since_epoch - passed > kStallThreshold;
}

void Coordinator::run_timer(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      wake_.wait_for(lock, stop, kTickInterval, [] { return false; });
      const Timestamp now = clock_.now();
      const WallTime wall_now = clock_.wall_now();
      if (has_stalled(now, wall_now)) listening_since_ = now;
      last_tick_ = now;
      last_tick_wall_time_ = wall_now;
    }
    for (const auto& entry : all_jobs()) {
      const MutexLock lock(entry->mutex);
      answer_parked_polls(*entry, clock_.now());
    }
  }
}

}  // namespace ratoon::coordinator
