#include "operator/runtime/health_port.h"

#include <chrono>

namespace ratoon::runtime {
namespace {

// Of all clients together: an address that has more than a sixteenth of them crowds, and loses its own
// (base/http/strangers.h).
constexpr std::size_t kHealthConnectionsMax = 256;
// A scraper gives up after ten seconds, as Prometheus does by default; one that reads on has no use for the
// page.
constexpr std::chrono::seconds kHealthReplyDeadline{60};

}  // namespace

http::ServerOptions options_of_health_port(std::uint16_t port) {
  http::ServerOptions options{.address = http::kEveryAddress, .port = port};
  options.strangers_max = kHealthConnectionsMax;
  options.stranger_deadline = options.idle_deadline;  // a scraper keeps its connection between two scrapes
  options.reply_deadline = kHealthReplyDeadline;
  return options;
}

}  // namespace ratoon::runtime
