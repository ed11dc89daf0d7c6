#include "operator/runtime/members/admission_queue.h"

#include <algorithm>
#include <utility>

namespace ratoon::runtime {
namespace {

std::size_t request_bytes(const http::ServerRequest& request) {
  std::size_t bytes = sizeof request + request.path.size() + request.query.size() + request.body.size();
  for (const auto& [name, value] : request.headers)
    bytes += sizeof name + name.size() + sizeof value + value.size();
  return bytes;
}

// Returns the peer's address without its port, because all ports of an address share one queue.
std::string address_of(const http::ServerRequest& request) {
  return request.peer.substr(0, request.peer.rfind(':'));
}

// If messages of an address have waited this long, its members may seem silent although they sent heartbeats.
constexpr Duration kLateAfter = std::chrono::seconds(1);
// When the queue is half full, one address may use only 1/kAddressShareDivisor of it.
constexpr std::size_t kAddressShareDivisor = 8;

// Answers with status 503. Unlike after a refusal, the member continues to run and calls again.
void ask_to_call_again(http::Responder& responder) {
  responder.send({.status = 503,
                  .headers = {{"Retry-After", "1"}},
                  .body = "too many unknown processes call at once: call again\n"});
}

}  // namespace

AdmissionQueue::AdmissionQueue(const Clock& clock, AdmissionQueueOptions options)
    : clock_(clock), options_(std::move(options)) {
  for (int i = 0; i < options_.threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
}

AdmissionQueue::~AdmissionQueue() = default;

void AdmissionQueue::receive(http::ServerRequest request, http::Responder responder) {
  if (options_.is_known(request)) return options_.answer(std::move(request), std::move(responder));
  const std::size_t bytes = request_bytes(request);
  const std::string address = address_of(request);
  {
    const MutexLock lock(mutex_);
    if (has_room(address, bytes)) {
      const Timestamp now = clock_.now();
      AddressQueue& line = address_queues_[address];
      if (line.messages.empty()) {
        line.turn_since = now;
        address_order_.push_back(address);
      }
      bytes_ += bytes;
      line.bytes += bytes;
      line.messages.push_back(
          {address, std::move(request), std::move(responder), bytes, now + options_.wait_max});
      wake_.notify_one();
      return;
    }
  }
  ask_to_call_again(responder);
}

bool AdmissionQueue::has_room(const std::string& address, std::size_t bytes) const {
  if (bytes_ + bytes > options_.bytes_max) return false;
  const auto line = address_queues_.find(address);
  const bool crowds =
      line != address_queues_.end() && line->second.bytes > options_.bytes_max / kAddressShareDivisor;
  return !crowds || bytes_ + bytes <= options_.bytes_max / 2;
}

std::deque<std::string>::const_iterator AdmissionQueue::next_address() const {
  const std::size_t each_max = std::max<std::size_t>(1, static_cast<std::size_t>(options_.threads) / 2);
  return std::ranges::find_if(address_order_, [&](const std::string& address) RATOON_REQUIRES(mutex_) {
    return address_queues_.at(address).in_review_count < each_max;
  });
}

AdmissionQueue::WaitingMessage AdmissionQueue::take_next_message() {
  const auto turn = next_address();
  const std::string address = *turn;
  address_order_.erase(turn);
  AddressQueue& line = address_queues_.at(address);
  WaitingMessage first = std::move(line.messages.front());
  line.messages.pop_front();
  line.bytes -= first.bytes;
  bytes_ -= first.bytes;
  ++line.in_review_count;
  if (clock_.now() - line.turn_since >= kLateAfter) options_.on_late();
  line.turn_since = clock_.now();
  if (!line.messages.empty()) address_order_.push_back(address);
  return first;
}

void AdmissionQueue::finish_review(const std::string& address) {
  const MutexLock lock(mutex_);
  const auto line = address_queues_.find(address);
  if (--line->second.in_review_count == 0 && line->second.messages.empty()) address_queues_.erase(line);
  wake_.notify_one();  // the address may have a message that waited for this thread
}

void AdmissionQueue::serve(const std::stop_token& stop) {
  for (;;) {
    MutexLock lock(mutex_);
    if (!wake_.wait(lock, stop,
                    [this]() RATOON_REQUIRES(mutex_) { return next_address() != address_order_.end(); }) ||
        stop.stop_requested())
      return;
    WaitingMessage first = take_next_message();
    lock.unlock();
    const std::string address = std::move(first.address);
    if (!first.responder.is_abandoned()) {
      if (clock_.now() >= first.until)
        ask_to_call_again(first.responder);
      else
        options_.answer(std::move(first.request), std::move(first.responder));
    }
    finish_review(address);
  }
}

}  // namespace ratoon::runtime
