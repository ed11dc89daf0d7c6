#include "base/http/strangers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace ratoon::http {
namespace {

constexpr std::size_t kCrowdShare = 16;  // of all strangers, that one address may have before it crowds
// For a handshake and a request, on a server that shakes many hands.
constexpr std::chrono::seconds kHonestTime{2};

}  // namespace

Strangers::Session Strangers::add(const Session& session, const std::string& address, Time now) {
  strangers_.push_back({session, address, now});
  if (strangers_.size() <= max_) return nullptr;
  const auto found = find_leaving(now);
  Session leaving = std::move(found->session);
  strangers_.erase(found);
  return leaving;
}

std::vector<Strangers::Stranger>::iterator Strangers::find_leaving(Time now) {
  const auto newest = std::prev(strangers_.end());  // it had no time to ask
  std::map<std::string_view, std::size_t> counts;
  for (const auto& stranger : strangers_) ++counts[stranger.address];
  const auto [crowd, count] =
      *std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  const auto oldest_silent = [&](const auto& is_meant) {
    return std::find_if(strangers_.begin(), newest,
                        [&](const Stranger& one) { return !one.is_in_work && is_meant(one); });
  };
  // Without one, both searches end at the newest.
  if (count * kCrowdShare <= max_)
    return oldest_silent([now](const Stranger& one) { return now - one.came > kHonestTime; });
  const auto is_of_crowd = [crowd](const Stranger& one) { return one.address == crowd; };
  const auto silent = oldest_silent(is_of_crowd);
  return silent != newest ? silent : std::ranges::find_if(strangers_, is_of_crowd);
}

void Strangers::set_in_work(const Session& session, bool is_in_work) {
  for (auto& stranger : strangers_)
    if (stranger.session == session) stranger.is_in_work = is_in_work;
}

void Strangers::remove(const Session& session) {
  std::erase_if(strangers_, [&](const Stranger& stranger) { return stranger.session == session; });
}

}  // namespace ratoon::http
