#include "operator/runtime/metrics/health_port.h"

#include <chrono>

namespace ratoon::runtime {
namespace {

// The limit for all clients together: an address with more than a sixteenth of the connections crowds out
// others, and loses its own connections (base/http/server/unauthenticated_connections.h).
constexpr std::size_t kHealthConnectionsMax = 256;
// A scraper gives up after ten seconds, as Prometheus does by default; the page is useless to it afterwards.
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
