#include "operator/runtime/porch.h"

#include <utility>

namespace ratoon::runtime {
namespace {

std::size_t bytes_of(const http::ServerRequest& request) {
  std::size_t bytes = sizeof request + request.path.size() + request.query.size() + request.body.size();
  for (const auto& [name, value] : request.headers)
    bytes += sizeof name + name.size() + sizeof value + value.size();
  return bytes;
}

// No refusal: a member that hears it goes on and calls again.
void send_away(http::Responder& responder) {
  responder.send({.status = 503,
                  .headers = {{"Retry-After", "1"}},
                  .body = "too many processes that are not known yet call at once: call again\n"});
}

}  // namespace

Porch::Porch(const Clock& clock, PorchOptions options) : clock_(clock), options_(std::move(options)) {
  for (int i = 0; i < options_.threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
}

Porch::~Porch() = default;

void Porch::receive(http::ServerRequest request, http::Responder responder) {
  if (options_.is_known(request)) return options_.answer(std::move(request), std::move(responder));
  const std::size_t bytes = bytes_of(request);
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes <= options_.bytes_max) {
      bytes_ += bytes;
      line_.push_back({std::move(request), std::move(responder), bytes, clock_.now() + options_.wait_max});
      wake_.notify_one();
      return;
    }
  }
  send_away(responder);
}

void Porch::serve(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait(lock, stop, [&] { return !line_.empty(); }) || stop.stop_requested()) return;
    Stranger first = std::move(line_.front());
    line_.pop_front();
    bytes_ -= first.bytes;
    lock.unlock();
    if (first.responder.is_abandoned()) continue;
    if (clock_.now() >= first.until)
      send_away(first.responder);
    else
      options_.answer(std::move(first.request), std::move(first.responder));
  }
}

}  // namespace ratoon::runtime
