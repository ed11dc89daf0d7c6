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
// An agent has two or three, and new ones while it closes old ones.
constexpr std::size_t kConnectionsOfAProcess = 8;
// For how long an answer is held back from a member that calls too often.
constexpr Duration kHeldBack = std::chrono::seconds(1);
// Between two looks for parked calls whose callers have gone.
constexpr Duration kLookAtAll = std::chrono::seconds(2);

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

// No refusal: an agent of any version takes it for one that passes, looks at its places and asks again.
void ask_for_new_list(http::Responder& responder) {
  responder.send({.status = 503,
                  .body =
                      "a world is about to be formed, and what this process told of checkpoints is old: look "
                      "again, and ask again\n"});
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
      wall_ticked_(clock.wall_now()),
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
      // No refusal: the caller is to try again. Its silence is our own deafness.
      note_unproved(message->process);
      return responder.send({.status = 503, .body = known.error().message() + "\n"});
    }
    return refuse(responder, 401, names::refusal::kUnauthorized, known.error().message());
  }
  bool is_news = false;
  ++messages_;
  const RoomPtr room = find_room(message->process.job);
  if (room == nullptr) {
    responder.vouch(message->process.member_uid, kConnectionsOfAProcess);
    return refuse(responder, 404, names::refusal::kUnknownJob,
                  "no TrainingJob " + message->process.job.name_space + "/" + message->process.job.name +
                      " is served here");
  }
  {
    const std::lock_guard lock(room->mutex);
    if (!take_turn(*room, message->process, responder)) return;
    const Door& door = room->door;
    constexpr bool kIsJoin = std::is_same_v<Message, JoinRequest>;
    const auto refusal = kIsJoin ? door.refuse_join(message->process) : door.refuse(message->process);
    if (refusal) return reply(responder, status_of(*refusal), *refusal);
    is_news = admit(*room, *message, responder);
  }
  if (is_news) options_.on_news(message->process.job);
}

bool Coordinator::admit(Room& room, const JoinRequest& message, http::Responder& responder) {
  if (room.door.hear_join(message, clock_.now())) room.is_to_look = true;
  if (const auto assignment = room.door.take_seat(message.process)) {
    reply(responder, 200, JoinReply{.assignment = assignment, .waiting_for = ""});
    return false;
  }
  if (room.door.take_wish_for_list(message.process)) {
    ask_for_new_list(responder);
    return false;
  }
  park(room, message.process, AwaitedAnswer::kSeat, 0, responder);
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
    park(room, message.process, AwaitedAnswer::kNewOrders, message.seen_revision, responder);
  }
  return false;
}

bool Coordinator::admit(Room& room, const Completed& message, http::Responder& responder) {
  if (const auto refusal = room.door.refuse_completion(message)) {
    reply(responder, status_of(*refusal), *refusal);
    return false;
  }
  room.door.hear_completed(message, clock_.now());
  if (room.door.is_recorded_as_done(message.process)) {
    reply(responder, 200, room.door.orders(message.process, clock_.wall_now()));
  } else {
    park(room, message.process, AwaitedAnswer::kRecordOfDone, 0, responder);
  }
  return true;
}

bool Coordinator::take_turn(Room& room, const ProcessIdentity& process, http::Responder& responder) {
  const std::size_t processes = room.door.announcement().processes_per_node;
  responder.vouch(process.member_uid, kConnectionsOfAProcess * processes);
  const Timestamp now = clock_.now();
  if (room.budget.take(process.member_uid, processes, now)) return true;
  room.held.push_back({now + kHeldBack, std::move(responder)});
  return false;
}

void Coordinator::park(Room& room, const ProcessIdentity& process, AwaitedAnswer awaited,
                       std::uint64_t seen_revision, http::Responder& responder) {
  room.parked.park(
      {process, awaited, seen_revision, clock_.now() + options_.poll_hold, std::move(responder)});
}

bool Coordinator::answer(Room& room, ParkedPoll& poll, Timestamp now) {
  if (poll.responder.is_abandoned()) return true;
  const bool is_join = poll.awaited == AwaitedAnswer::kSeat;
  const auto refusal = is_join ? room.door.refuse_join(poll.process) : room.door.refuse(poll.process);
  if (refusal) {
    reply(poll.responder, status_of(*refusal), *refusal);
    return true;
  }
  if (!is_join) {
    const Orders orders = room.door.orders(poll.process, clock_.wall_now());
    const bool is_due = poll.awaited == AwaitedAnswer::kNewOrders
                            ? orders.revision != poll.seen_revision
                            : room.door.is_recorded_as_done(poll.process);
    if (!is_due && now < poll.answer_by) return false;
    reply(poll.responder, 200, orders);
    return true;
  }
  const auto assignment = room.door.take_seat(poll.process);
  if (!assignment && room.door.take_wish_for_list(poll.process)) {
    ask_for_new_list(poll.responder);
    return true;
  }
  if (!assignment && now < poll.answer_by) return false;
  reply(poll.responder, 200,
        JoinReply{.assignment = assignment, .waiting_for = room.door.announcement().reason});
  return true;
}

// All are looked at when there is news for some of them, and at times for callers that have gone.
void Coordinator::look_at_parked(Room& room, Timestamp now) {
  for (; !room.held.empty() && room.held.front().due <= now; room.held.pop_front())
    room.held.front().responder.send({.status = 503,
                                      .headers = {{"Retry-After", "1"}},
                                      .body = "this member calls too often: call again later\n"});
  const auto answer_one = [&](ParkedPoll& poll) { return answer(room, poll, now); };
  if (!room.is_to_look && now - room.looked < kLookAtAll) return room.parked.answer_due(now, answer_one);
  room.is_to_look = false;
  room.looked = now;
  room.budget.forget_quiet(now);
  room.parked.answer_all(answer_one);
}

void Coordinator::announce(const JobKey& job, const api::Announcement& announcement) {
  RoomPtr room;
  {
    const std::lock_guard lock(mutex_);
    auto& found = rooms_[job];
    if (found == nullptr) {
      const auto opened_at = std::chrono::floor<std::chrono::milliseconds>(clock_.wall_now().since_epoch);
      const Door door(static_cast<std::uint64_t>(std::max<std::int64_t>(0, opened_at.count())));
      const Timestamp now = clock_.now();
      found = std::make_shared<Room>(now, door, options_.limits);
    }
    room = found;
  }
  const std::lock_guard lock(room->mutex);
  const Timestamp now = clock_.now();
  if (room->door.announce(with_secret(announcement, room->door.announcement().world, options_.draw)))
    room->is_to_look = true;
  look_at_parked(*room, now);
}

void Coordinator::close(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  rooms_.erase(job);
}

void Coordinator::forget_processes(const JobKey& job) {
  const RoomPtr room = find_room(job);
  if (room == nullptr) return;
  const std::lock_guard lock(room->mutex);
  room->door.forget_processes();
}

Coordinator::RoomPtr Coordinator::find_room(const JobKey& job) const {
  const std::lock_guard lock(mutex_);
  const auto room = rooms_.find(job);
  return room == rooms_.end() ? nullptr : room->second;
}

std::vector<Coordinator::RoomPtr> Coordinator::all_rooms() const {
  std::vector<RoomPtr> rooms;
  const std::lock_guard lock(mutex_);
  for (const auto& [job, room] : rooms_) rooms.push_back(room);
  return rooms;
}

void Coordinator::note_unproved(const ProcessIdentity& process) {
  const RoomPtr room = find_room(process.job);
  if (room == nullptr) return;
  const std::lock_guard lock(room->mutex);
  const Timestamp now = clock_.now();
  if (!room->door.hear_unproved(process, now)) room->unproved = now;
}

void Coordinator::note_unread() {
  const std::lock_guard lock(mutex_);
  unread_ = clock_.now();
}

std::vector<api::ProcessFacts> Coordinator::processes(const JobKey& job) const {
  const RoomPtr room = find_room(job);
  if (room == nullptr) return {};
  const std::lock_guard lock(room->mutex);
  return room->door.processes();
}

std::vector<api::Seat> Coordinator::world(const JobKey& job) const {
  const RoomPtr room = find_room(job);
  if (room == nullptr) return {};
  const std::lock_guard lock(room->mutex);
  return room->door.announcement().world;
}

Timestamp Coordinator::listening_since(const JobKey& job) const {
  Timestamp listening;
  Timestamp unread;
  RoomPtr room;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(job);
    const Timestamp now = clock_.now();
    // After a stall others may ask before the timekeeper runs again.
    if (found == rooms_.end() || has_stalled(now, clock_.wall_now())) return now;
    room = found->second;
    listening = std::max(listening_since_, room->opened);
    unread = unread_;
  }
  const std::lock_guard lock(room->mutex);
  unread = std::max(unread, room->unproved);
  return unread > listening && room->door.is_any_unheard() ? unread : listening;
}

Coordinator::Load Coordinator::load() const {
  Load load{.messages = messages_};
  for (const auto& room : all_rooms()) {
    const std::lock_guard lock(room->mutex);
    load.parked += room->parked.size();
  }
  return load;
}

// While a machine sleeps its steady clock stands, and the wall's is ahead of it afterwards.
bool Coordinator::has_stalled(Timestamp now, WallTime wall_now) const {
  const Duration passed = now - ticked_;
  return passed > kStall || wall_now.since_epoch - wall_ticked_.since_epoch - passed > kStall;
}

void Coordinator::keep_time(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kTick, [] { return false; });
      const Timestamp now = clock_.now();
      const WallTime wall_now = clock_.wall_now();
      if (has_stalled(now, wall_now)) listening_since_ = now;
      ticked_ = now;
      wall_ticked_ = wall_now;
    }
    for (const auto& room : all_rooms()) {
      const std::lock_guard lock(room->mutex);
      look_at_parked(*room, clock_.now());
    }
  }
}

}  // namespace ratoon::coordinator
