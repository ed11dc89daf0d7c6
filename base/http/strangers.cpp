#include "base/http/strangers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace ratoon::http {
namespace {

constexpr std::size_t kCrowdShare = 16;  // of all strangers, that one address may have before it crowds

}  // namespace

Strangers::Session Strangers::add(const Session& session, const std::string& address) {
  strangers_.push_back({session, address});
  if (strangers_.size() <= max_) return nullptr;
  const auto found = find_leaving();
  Session leaving = std::move(found->session);
  strangers_.erase(found);
  return leaving;
}

std::vector<Strangers::Stranger>::iterator Strangers::find_leaving() {
  const auto newest = std::prev(strangers_.end());  // it had no time to ask
  std::map<std::string_view, std::size_t> counts;
  for (const auto& stranger : strangers_) ++counts[stranger.address];
  const auto [crowd, count] =
      *std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (count * kCrowdShare <= max_) return newest;
  const auto is_of_crowd = [crowd](const Stranger& stranger) { return stranger.address == crowd; };
  const auto silent = std::find_if(strangers_.begin(), newest, [&](const Stranger& stranger) {
    return is_of_crowd(stranger) && !stranger.is_in_work;
  });
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
