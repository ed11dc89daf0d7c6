// operator/runtime/members/: lets members call the operator. AdmissionQueue: the thread that reads a message
// answers it at once if the message has a known token. Messages with unknown tokens wait in a queue with its
// own threads, because the API server must review each token. Client addresses take turns in this queue, so
// a caller that sends thousands of bad tokens delays only messages with unknown tokens from its own address.
// One address uses at most half of these threads, so if its reviews hang, threads remain for other
// addresses.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"
#include "base/http/server.h"

namespace ratoon::runtime {

// The greatest number of unauthenticated connections: with TLS they use at most 126 MiB, half of the
// operator's memory limit in the chart. If more members connect at once, some of them must call again later.
inline constexpr std::size_t kUnauthenticatedConnectionsMax = 1024;

struct AdmissionQueueOptions {
  std::function<bool(const http::ServerRequest&)> is_known;  // must not block
  http::Handler answer;
  int threads = 8;  // number of tokens reviewed at once; half of them for one address
  std::size_t bytes_max = std::size_t{8} << 20;
  Duration wait_max{std::chrono::seconds(5)};  // after this wait the member is asked to call again
  // The queue calls on_late when messages of an address have waited so long that members may seem silent
  // although they sent heartbeats.
  std::function<void()> on_late = [] {};
};

class AdmissionQueue {
 public:
  // The clock must outlive this object.
  AdmissionQueue(const Clock& clock, AdmissionQueueOptions options);
  // Waits for threads that are answering messages; messages that are still in the queue get no answer.
  ~AdmissionQueue();
  AdmissionQueue(const AdmissionQueue&) = delete;
  AdmissionQueue& operator=(const AdmissionQueue&) = delete;

  // Receives a message; several threads may call receive() at once.
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
  struct AddressQueue {
    std::deque<WaitingMessage> messages;
    std::size_t bytes = 0;
    Timestamp turn_since;             // since when the address waits for its turn
    std::size_t in_review_count = 0;  // how many of its messages threads handle now
  };

  void serve(const std::stop_token& stop);
  [[nodiscard]] bool has_room(const std::string& address, std::size_t bytes) const RATOON_REQUIRES(mutex_);
  // Returns the first address that has a waiting message and may use another thread.
  [[nodiscard]] std::deque<std::string>::const_iterator next_address() const RATOON_REQUIRES(mutex_);
  [[nodiscard]] WaitingMessage take_next_message() RATOON_REQUIRES(mutex_);
  void finish_review(const std::string& address);

  const Clock& clock_;
  const AdmissionQueueOptions options_;
  Mutex mutex_;
  StoppableConditionVariable wake_;
  std::map<std::string, AddressQueue> address_queues_ RATOON_GUARDED_BY(mutex_);  // by address
  std::deque<std::string> address_order_ RATOON_GUARDED_BY(mutex_);  // order of the addresses with messages
  std::size_t bytes_ RATOON_GUARDED_BY(mutex_) = 0;                  // in all lines
  std::vector<std::jthread> threads_;                                // last: they use everything above
};

}  // namespace ratoon::runtime
