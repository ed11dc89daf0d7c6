// Coordinator: the agents' door over HTTP. Join and orders are long polls; a parked poll holds a connection
// and no thread. It is a cache: all truth is in the TrainingJob's status and in checkpoint manifests.
//
// Each job has a room of its own with a lock of its own: the work for one job delays no other one.
//
// Thread contract: every method may be called from any thread. `on_news` is called without locks held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/random_name.h"
#include "base/http/server.h"
#include "operator/coordinator/door.h"
#include "operator/coordinator/message_budget.h"
#include "operator/coordinator/parked_polls.h"
#include "operator/coordinator/rooms.h"

namespace ratoon::coordinator {

// Says whether the bearer of this token is that process: kPermissionDenied if it is not, anything else if
// that cannot be found out now.
using Authenticate = std::function<Result<void>(std::string_view token, const ProcessIdentity& process)>;

struct CoordinatorOptions {
  Authenticate authenticate;
  std::function<void(const JobKey&)> on_news;    // something was heard that may change a decision
  Duration poll_hold{std::chrono::seconds(20)};  // a long poll is answered by then, with or without news
  MessageLimits limits{};
  std::function<Result<std::string>()> draw = [] { return draw_secret(kSecretBytes); };
};

// The token that a call shows; empty: none.
[[nodiscard]] std::string_view bearer_token(const http::ServerRequest& request);

class Coordinator final : public Rooms {
 public:
  Coordinator(const Clock& clock, CoordinatorOptions options);
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // The handler for an HttpServer.
  void handle(const http::ServerRequest& request, http::Responder responder);

  // The seats of an attempt that is told of for the first time are given its secret. It is kept nowhere else:
  // who leads next hands out none of this attempt's seats, and a process that still waits for one then makes
  // the next attempt.
  void announce(const JobKey& job, const api::Announcement& announcement) override;
  void close(const JobKey& job) override;
  void forget_processes(const JobKey& job) override;

  // Messages of processes that are not known yet lie unread. A member that has not been heard may have
  // called.
  void note_unread();

  [[nodiscard]] std::vector<api::ProcessFacts> processes(const JobKey& job) const override;
  [[nodiscard]] std::vector<api::Seat> world(const JobKey& job) const override;
  [[nodiscard]] Timestamp listening_since(const JobKey& job) const override;

  // Of all jobs.
  struct Load {
    std::uint64_t messages = 0;  // that were understood, since the beginning
    std::size_t parked = 0;      // polls that wait for an answer
  };
  [[nodiscard]] Load load() const;

 private:
  // An answer to one that calls too often.
  struct Held {
    Timestamp due;
    http::Responder responder;
  };
  struct Room {
    Room(Timestamp now, Door its_door, MessageLimits limits)
        : opened(now), door(std::move(its_door)), budget(limits), looked(now) {}

    const Timestamp opened;
    std::mutex mutex;
    Door door;                // guarded by mutex
    ParkedPolls parked;       // guarded by mutex
    MessageBudget budget;     // guarded by mutex
    std::deque<Held> held;    // guarded by mutex; the first is due first
    Timestamp looked;         // at all that is parked; guarded by mutex
    bool is_to_look = false;  // at all of it, soon; guarded by mutex
    Timestamp unproved{};     // a call of a member that is not known could not be proved; guarded by mutex
  };
  using RoomPtr = std::shared_ptr<Room>;

  void keep_time(const std::stop_token& stop);
  [[nodiscard]] bool has_stalled(Timestamp now, WallTime wall_now) const;  // mutex_ is held
  [[nodiscard]] RoomPtr find_room(const JobKey& job) const;
  [[nodiscard]] std::vector<RoomPtr> all_rooms() const;
  void note_unproved(const ProcessIdentity& process);
  template <class Message>
  void serve(const http::ServerRequest& request, http::Responder responder);
  // Each answers at once or parks the responder. The room's mutex is held; returns whether it is news.
  bool admit(Room& room, const JoinRequest& message, http::Responder& responder);
  bool admit(Room& room, const Beat& message, http::Responder& responder);
  bool admit(Room& room, const OrdersRequest& message, http::Responder& responder);
  bool admit(Room& room, const Completed& message, http::Responder& responder);
  // Whether the member may send one more; if not, its answer is held back.
  [[nodiscard]] bool take_turn(Room& room, const ProcessIdentity& process, http::Responder& responder);
  void park(Room& room, const ProcessIdentity& process, AwaitedAnswer awaited, std::uint64_t seen_revision,
            http::Responder& responder);
  void look_at_parked(Room& room, Timestamp now);
  [[nodiscard]] bool answer(Room& room, ParkedPoll& poll, Timestamp now);

  const Clock& clock_;
  const CoordinatorOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<JobKey, RoomPtr> rooms_;  // guarded by mutex_
  std::atomic<std::uint64_t> messages_ = 0;
  Timestamp ticked_;           // guarded by mutex_
  WallTime wall_ticked_;       // guarded by mutex_
  Timestamp listening_since_;  // guarded by mutex_
  Timestamp unread_{};         // messages of strangers lay unread then; guarded by mutex_
  std::jthread timekeeper_;    // last: it uses everything above
};

}  // namespace ratoon::coordinator
