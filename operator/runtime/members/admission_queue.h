// operator/runtime/members/: lets members call the operator. AdmissionQueue: a message with a known token
// is answered at once, by the thread that read it. Messages with unknown tokens wait in a queue with its
// own threads, because the API server must review each token. Client addresses take turns in that queue, so
// a caller that sends thousands of bad tokens delays only messages with unknown tokens from its own
// address. Reviews for one address use at most half of these threads, so threads remain for other addresses
// while reviews hang.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/core/clock.h"
#include "base/http/server.h"

namespace ratoon::runtime {

// The greatest number of unauthenticated connections: with TLS they use at most 126 MiB, half of the
// operator's memory limit in the chart. If more members connect at once, some must call again.
inline constexpr std::size_t kUnauthenticatedConnectionsMax = 1024;

struct AdmissionQueueOptions {
  std::function<bool(const http::ServerRequest&)> is_known;  // must not block
  http::Handler answer;
  int threads = 8;  // number of tokens reviewed at once; half of them for one address
  std::size_t bytes_max = std::size_t{8} << 20;
  Duration wait_max{std::chrono::seconds(5)};  // after this wait the member is asked to call again
  // Called when an address has waited so long for its turn that its members may seem silent although they
  // sent heartbeats.
  std::function<void()> on_late = [] {};
};

class AdmissionQueue {
 public:
  // The clock must outlive this object.
  AdmissionQueue(const Clock& clock, AdmissionQueueOptions options);
  // Waits for threads that are answering messages; messages in the queue get no answer.
  ~AdmissionQueue();
  AdmissionQueue(const AdmissionQueue&) = delete;
  AdmissionQueue& operator=(const AdmissionQueue&) = delete;

  // Receives a message; several threads may call this at once.
  void receive(http::ServerRequest request, http::Responder responder);

 private:
  struct WaitingMessage {
    std::string address;
    http::ServerRequest request;
    http::Responder responder;
    std::size_t bytes;
    Timestamp until;
  };
  // The waiting messages from one client address.
  struct AddressLine {
    std::deque<WaitingMessage> messages;
    std::size_t bytes = 0;
    Timestamp turn_since;       // since when the address waits for its turn
    std::size_t in_review = 0;  // how many of its messages threads handle now
  };

  void serve(const std::stop_token& stop);
  [[nodiscard]] bool has_room(const std::string& address, std::size_t bytes) const;  // mutex_ is held
  // Returns the first address that waits and may use another thread.
  [[nodiscard]] std::deque<std::string>::const_iterator next_turn() const;  // mutex_ is held
  [[nodiscard]] WaitingMessage take_first();                                // mutex_ is held
  void note_reviewed(const std::string& address);

  const Clock& clock_;
  const AdmissionQueueOptions options_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, AddressLine> lines_;  // by address; guarded by mutex_
  std::deque<std::string> turns_;             // order of the addresses with messages; guarded by mutex_
  std::size_t bytes_ = 0;                     // in all lines; guarded by mutex_
  std::vector<std::jthread> threads_;         // last: they use everything above
};

}  // namespace ratoon::runtime
