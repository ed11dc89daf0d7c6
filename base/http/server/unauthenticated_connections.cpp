#include "base/http/server/unauthenticated_connections.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace ratoon::http {
namespace {

constexpr std::size_t kCrowdedAddressDivisor =
    16;  // an address with over 1/16 of the limit crowds out others
// An honest client sends its first request within kFirstRequestTimeMax, even while the server makes many
// handshakes.
constexpr std::chrono::seconds kFirstRequestTimeMax{2};

}  // namespace

UnauthenticatedConnections::Session UnauthenticatedConnections::add(const Session& session,
                                                                    const std::string& address, Time now) {
  connections_.push_back({session, address, now});
  if (connections_.size() <= connections_max_) return nullptr;
  const auto found = find_connection_to_close(now);
  Session leaving = std::move(found->session);
  connections_.erase(found);
  return leaving;
}

std::vector<UnauthenticatedConnections::UnauthenticatedConnection>::iterator
UnauthenticatedConnections::find_connection_to_close(Time now) {
  const auto newest = std::prev(connections_.end());  // it had no time to send a request
  std::map<std::string_view, std::size_t> counts;
  for (const auto& connection : connections_) ++counts[connection.address];
  const auto [crowd, count] =
      *std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  const auto oldest_silent = [&](const auto& is_meant) {
    return std::find_if(connections_.begin(), newest, [&](const UnauthenticatedConnection& one) {
      return !one.has_running_request && is_meant(one);
    });
  };
  // If oldest_silent() finds no matching connection, it returns the newest connection.
  if (count * kCrowdedAddressDivisor <= connections_max_)
    return oldest_silent(
        [now](const UnauthenticatedConnection& one) { return now - one.opened_at > kFirstRequestTimeMax; });
  const auto is_of_crowd = [crowd](const UnauthenticatedConnection& one) { return one.address == crowd; };
  const auto silent = oldest_silent(is_of_crowd);
  return silent != newest ? silent : std::ranges::find_if(connections_, is_of_crowd);
}

void UnauthenticatedConnections::set_has_running_request(const Session& session, bool has_running_request) {
  for (auto& connection : connections_)
    if (connection.session == session) connection.has_running_request = has_running_request;
}

void UnauthenticatedConnections::remove(const Session& session) {
  std::erase_if(connections_,
                [&](const UnauthenticatedConnection& connection) { return connection.session == session; });
}

}  // namespace ratoon::http
