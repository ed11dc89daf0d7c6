// Coordinator: the agents' door over HTTP. Join and orders are long polls; a parked poll holds a connection
// and no thread. It is a cache: all truth is in the TrainingJob's status and in checkpoint manifests.
//
// Thread contract: every method may be called from any thread. `on_news` is called without locks held.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/random_name.h"
#include "base/http/server.h"
#include "operator/coordinator/door.h"
#include "operator/coordinator/rooms.h"

namespace ratoon::coordinator {

// Says whether the bearer of this token is that process: kPermissionDenied if it is not, anything else if
// that cannot be found out now.
using Authenticate = std::function<Result<void>(std::string_view token, const ProcessIdentity& process)>;

struct CoordinatorOptions {
  Authenticate authenticate;
  std::function<void(const JobKey&)> on_news;    // something was heard that may change a decision
  Duration poll_hold{std::chrono::seconds(20)};  // a long poll is answered by then, with or without news
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
  // A long poll that waits for a seat (join) or for orders newer than it has seen.
  struct ParkedPoll {
    ProcessIdentity process;
    std::optional<std::uint64_t> seen_revision;  // of an orders poll; empty: a join
    Timestamp answer_by;
    http::Responder responder;
  };
  struct Room {
    Timestamp opened;
    Door door;
    std::vector<ParkedPoll> parked;
  };

  void keep_time(const std::stop_token& stop);
  [[nodiscard]] bool has_stalled(Timestamp now) const;  // mutex_ is held
  template <class Message>
  void serve(const http::ServerRequest& request, http::Responder responder);
  // Each answers at once or parks the responder. mutex_ is held; returns whether it is news.
  bool admit(Room& room, const JoinRequest& message, http::Responder& responder);
  bool admit(Room& room, const Beat& message, http::Responder& responder);
  bool admit(Room& room, const OrdersRequest& message, http::Responder& responder);
  bool admit(Room& room, const Completed& message, http::Responder& responder);
  void park(Room& room, const ProcessIdentity& process, std::optional<std::uint64_t> seen_revision,
            http::Responder& responder);
  void answer_parked(Room& room);

  const Clock& clock_;
  const CoordinatorOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<JobKey, Room> rooms_;  // guarded by mutex_
  std::uint64_t messages_ = 0;    // guarded by mutex_
  Timestamp ticked_;              // guarded by mutex_
  Timestamp listening_since_;     // guarded by mutex_
  std::jthread timekeeper_;       // last: it uses everything above
};

}  // namespace ratoon::coordinator
