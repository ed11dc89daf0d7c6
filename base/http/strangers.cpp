#include "base/http/strangers.h"

#include <algorithm>
#include <utility>

namespace ratoon::http {

Strangers::Session Strangers::add(const Session& session) {
  Session leaving;
  if (strangers_.size() >= max_) {
    auto oldest = std::find_if(strangers_.begin(), strangers_.end(),
                               [](const Stranger& stranger) { return !stranger.is_in_work; });
    if (oldest == strangers_.end()) oldest = strangers_.begin();
    leaving = std::move(oldest->session);
    strangers_.erase(oldest);
  }
  strangers_.push_back({session});
  return leaving;
}

void Strangers::set_in_work(const Session& session, bool is_in_work) {
  for (auto& stranger : strangers_)
    if (stranger.session == session) stranger.is_in_work = is_in_work;
}

void Strangers::remove(const Session& session) {
  std::erase_if(strangers_, [&](const Stranger& stranger) { return stranger.session == session; });
}

}  // namespace ratoon::http
