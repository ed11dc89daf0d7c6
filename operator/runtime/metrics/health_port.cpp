#include "operator/runtime/metrics/health_port.h"

#include <chrono>

namespace ratoon::runtime {
namespace {

// The greatest number of connections of all clients together. At the limit, an address with more than 1/16 of
// the connections loses connections first (base/http/server/unauthenticated_connections.h).
constexpr std::size_t kHealthConnectionsMax = 256;
// A minute is far more than the ten seconds after which Prometheus gives up a scrape by default.
constexpr std::chrono::seconds kHealthReplyDeadline{60};

}  // namespace

http::ServerOptions options_of_health_port(std::uint16_t port) {
  http::ServerOptions options{.address = http::kEveryAddress, .port = port};
  options.unauthenticated_connections_max = kHealthConnectionsMax;
  options.unauthenticated_deadline =
      options.idle_deadline;  // a scraper keeps its connection between two scrapes
  options.reply_deadline = kHealthReplyDeadline;
  return options;
}

}  // namespace ratoon::runtime
