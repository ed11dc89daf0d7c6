#include "agent/src/torch/meeting.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "agent/src/torch/gloo.h"

namespace ratoon {
namespace {

using std::chrono::milliseconds;

// Of one call of the store. Its server is a thread of rank 0, which answers at once or is gone.
constexpr milliseconds kStoreTimeout = std::chrono::seconds(30);
// Of connecting and of every collective: how long one that was given up can live on. A rank that is slower
// than this in one step, without being lost, ends the attempt.
constexpr milliseconds kGroupTimeout = std::chrono::minutes(2);
constexpr milliseconds kPauseFirst(1);
constexpr milliseconds kPauseMax(20);

// The listening socket is the process's, and so is the server on it: two servers would share what comes in.
void serve(const Rendezvous& rendezvous) {
  static std::mutex mutex;
  static std::map<std::uint16_t, c10::intrusive_ptr<c10d::TCPStore>> servers;  // by port
  const std::scoped_lock lock(mutex);
  auto& server = servers[rendezvous.port];
  if (server) return;
  c10d::TCPStoreOptions options;
  options.port = rendezvous.port;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = kStoreTimeout;
  options.masterListenFd = ::fcntl(rendezvous.listening_fd, F_DUPFD_CLOEXEC, 0);  // the store closes it
  server = c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options);
}

std::string mark_key(std::uint32_t rank) {
  return "mark " + std::to_string(rank);
}

}  // namespace

Meeting::Meeting(Plan plan) : plan_(std::move(plan)) {
  thread_ = std::thread([this] {
    try {
      meet();
    } catch (...) {
      error_ = std::current_exception();
    }
    is_over_ = true;
  });
}

Meeting::~Meeting() {
  thread_.join();
}

void Meeting::meet() {
  if (plan_.rank == 0) serve(plan_.rendezvous);
  c10d::TCPStoreOptions options;
  options.port = plan_.rendezvous.port;
  options.waitWorkers = false;
  options.timeout = kStoreTimeout;
  const auto store = c10::make_intrusive<c10d::PrefixStore>(
      "attempt " + std::to_string(plan_.attempt),
      c10::make_intrusive<c10d::TCPStore>(plan_.rendezvous.host, options));

  std::vector<std::string> keys;
  for (std::uint32_t rank = 0; rank < plan_.world_size; ++rank) keys.push_back(mark_key(rank));
  store->set(keys[plan_.rank], std::vector<std::uint8_t>(plan_.mark.begin(), plan_.mark.end()));
  // A rank may take as long as it likes to get here, so this is no blocking wait with a time-out.
  for (auto pause = kPauseFirst; !store->check(keys); pause = std::min(pause * 2, kPauseMax)) {
    if (is_given_up_) return;
    std::this_thread::sleep_for(pause);
  }
  for (const auto& mark : store->multiGet(keys)) marks_.emplace_back(mark.begin(), mark.end());
  if (is_given_up_ || std::ranges::adjacent_find(marks_, std::not_equal_to()) != marks_.end()) return;
  group_ = connect_with_gloo(store, static_cast<int>(plan_.rank), static_cast<int>(plan_.world_size),
                             plan_.rendezvous.own_host, kGroupTimeout);
}

}  // namespace ratoon
