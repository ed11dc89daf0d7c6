#include "operator/coordinator/coordinator.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/contract/codec.h"
#include "base/contract/names.h"

namespace ratoon::coordinator {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);
// If a tick comes this late, the machine or this process stood still and everybody's beats may lie unread.
constexpr Duration kStall = std::chrono::seconds(1);

template <class Message>
void reply(http::Responder& responder, int status, const Message& message) {
  responder.send(
      {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = encode(message)});
}

void refuse(http::Responder& responder, int status, std::string kind, std::string message) {
  reply(responder, status, Refusal{.kind = std::move(kind), .message = std::move(message)});
}

int status_of(const Refusal& refusal) {
  return refusal.kind == names::refusal::kUnauthorized ? 401 : 409;
}

// One that was told of before keeps its secret: some have it already. Where none can be drawn nothing is
// handed out, and those who wait make another attempt.
api::Announcement with_secret(api::Announcement announcement, const std::vector<api::Seat>& before,
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

}  // namespace

std::string_view bearer_token(const http::ServerRequest& request) {
  constexpr std::string_view kPrefix = "Bearer ";
  const std::string_view value = request.headers.get("Authorization");
  return value.starts_with(kPrefix) ? value.substr(kPrefix.size()) : std::string_view();
}

Coordinator::Coordinator(const Clock& clock, CoordinatorOptions options)
    : clock_(clock),
      options_(std::move(options)),
      ticked_(clock.now()),
      listening_since_(ticked_),
      timekeeper_([this](const std::stop_token& stop) { keep_time(stop); }) {}

Coordinator::~Coordinator() = default;

void Coordinator::handle(const http::ServerRequest& request, http::Responder responder) {
  if (request.method != "POST") {
    return refuse(responder, 405, names::refusal::kBadMessage,
                  request.path + " takes POST, not " + request.method);
  }
  if (request.path == names::route::kJoin) return serve<JoinRequest>(request, std::move(responder));
  if (request.path == names::route::kBeat) return serve<Beat>(request, std::move(responder));
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
      // No refusal: the caller is to try again. Its silence, and perhaps that of others, is our own deafness.
      const std::lock_guard lock(mutex_);
      listening_since_ = clock_.now();
      return responder.send({.status = 503, .body = known.error().message() + "\n"});
    }
    return refuse(responder, 401, names::refusal::kUnauthorized, known.error().message());
  }
  responder.vouch();
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    ++messages_;
    const auto room = rooms_.find(message->process.job);
    if (room == rooms_.end()) {
      return refuse(responder, 404, names::refusal::kUnknownJob,
                    "no TrainingJob " + message->process.job.name_space + "/" + message->process.job.name +
                        " is served here");
    }
    const Door& door = room->second.door;
    constexpr bool kIsJoin = std::is_same_v<Message, JoinRequest>;
    const auto refusal = kIsJoin ? door.refuse_join(message->process) : door.refuse(message->process);
    if (refusal) return reply(responder, status_of(*refusal), *refusal);
    is_news = admit(room->second, *message, responder);
  }
  if (is_news) options_.on_news(message->process.job);
}

bool Coordinator::admit(Room& room, const JoinRequest& message, http::Responder& responder) {
  room.door.hear_join(message, clock_.now());
  if (const auto assignment = room.door.take_seat(message.process)) {
    reply(responder, 200, JoinReply{.assignment = assignment, .waiting_for = ""});
    return false;
  }
  park(room, message.process, std::nullopt, responder);
  return true;
}

bool Coordinator::admit(Room& room, const Beat& message, http::Responder& responder) {
  const bool is_news = room.door.hear_beat(message, clock_.now());
  reply(responder, 200, room.door.orders(message.process, clock_.wall_now()));
  return is_news;
}

bool Coordinator::admit(Room& room, const OrdersRequest& message, http::Responder& responder) {
  const Orders orders = room.door.orders(message.process, clock_.wall_now());
  if (orders.revision != message.seen_revision) {
    reply(responder, 200, orders);
  } else {
    park(room, message.process, message.seen_revision, responder);
  }
  return false;
}

bool Coordinator::admit(Room& room, const Completed& message, http::Responder& responder) {
  if (const auto refusal = room.door.refuse_completion(message)) {
    reply(responder, status_of(*refusal), *refusal);
    return false;
  }
  room.door.hear_completed(message, clock_.now());
  reply(responder, 200, room.door.orders(message.process, clock_.wall_now()));
  return true;
}

void Coordinator::park(Room& room, const ProcessIdentity& process, std::optional<std::uint64_t> seen_revision,
                       http::Responder& responder) {
  // Who asks again does not listen to its first call any more, even if that connection still looks open.
  std::erase_if(room.parked, [&](const ParkedPoll& poll) {
    return poll.process == process && poll.seen_revision.has_value() == seen_revision.has_value();
  });
  room.parked.push_back({process, seen_revision, clock_.now() + options_.poll_hold, std::move(responder)});
}

void Coordinator::answer_parked(Room& room) {
  const Timestamp now = clock_.now();
  std::erase_if(room.parked, [&](ParkedPoll& poll) {
    if (poll.responder.is_abandoned()) return true;
    const auto refusal =
        poll.seen_revision ? room.door.refuse(poll.process) : room.door.refuse_join(poll.process);
    if (refusal) {
      reply(poll.responder, status_of(*refusal), *refusal);
      return true;
    }
    if (poll.seen_revision) {
      const Orders orders = room.door.orders(poll.process, clock_.wall_now());
      if (orders.revision == *poll.seen_revision && now < poll.answer_by) return false;
      reply(poll.responder, 200, orders);
      return true;
    }
    const auto assignment = room.door.take_seat(poll.process);
    if (!assignment && now < poll.answer_by) return false;
    reply(poll.responder, 200,
          JoinReply{.assignment = assignment, .waiting_for = room.door.announcement().reason});
    return true;
  });
}

void Coordinator::announce(const JobKey& job, const api::Announcement& announcement) {
  const std::lock_guard lock(mutex_);
  const auto opened_at = std::chrono::floor<std::chrono::milliseconds>(clock_.wall_now().since_epoch);
  const Door door(static_cast<std::uint64_t>(std::max<std::int64_t>(0, opened_at.count())));
  Room& room = rooms_.try_emplace(job, Room{.opened = clock_.now(), .door = door}).first->second;
  room.door.announce(with_secret(announcement, room.door.announcement().world, options_.draw));
  answer_parked(room);
}

void Coordinator::close(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  rooms_.erase(job);
}

std::vector<api::ProcessFacts> Coordinator::processes(const JobKey& job) const {
  const std::lock_guard lock(mutex_);
  const auto room = rooms_.find(job);
  return room == rooms_.end() ? std::vector<api::ProcessFacts>{} : room->second.door.processes();
}

std::vector<api::Seat> Coordinator::world(const JobKey& job) const {
  const std::lock_guard lock(mutex_);
  const auto room = rooms_.find(job);
  return room == rooms_.end() ? std::vector<api::Seat>{} : room->second.door.announcement().world;
}

Timestamp Coordinator::listening_since(const JobKey& job) const {
  const std::lock_guard lock(mutex_);
  const auto room = rooms_.find(job);
  const Timestamp now = clock_.now();
  // After a stall others may ask before the timekeeper runs again.
  if (room == rooms_.end() || has_stalled(now)) return now;
  return std::max(listening_since_, room->second.opened);
}

Coordinator::Load Coordinator::load() const {
  const std::lock_guard lock(mutex_);
  Load load{.messages = messages_};
  for (const auto& [job, room] : rooms_) load.parked += room.parked.size();
  return load;
}

bool Coordinator::has_stalled(Timestamp now) const {
  return now - ticked_ > kStall;
}

void Coordinator::keep_time(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kTick, [] { return false; });
    const Timestamp now = clock_.now();
    if (has_stalled(now)) listening_since_ = now;
    ticked_ = now;
    for (auto& [job, room] : rooms_) answer_parked(room);
  }
}

}  // namespace ratoon::coordinator
