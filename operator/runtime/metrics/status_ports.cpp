#include "operator/runtime/metrics/status_ports.h"

#include <chrono>
#include <utility>

namespace ratoon::runtime {
namespace {

// The greatest number of connections of each port. If all are in use, an address with more than 1/16 of
// them loses connections first (base/http/server/unauthenticated_connections.h).
constexpr std::size_t kMetricsConnectionsMax = 256;
constexpr std::size_t kProbeConnectionsMax = 64;
// A minute is much longer than the ten seconds after which Prometheus ends a scrape by default.
constexpr std::chrono::seconds kMetricsReplyDeadline{60};
// The kubelet opens a connection for each probe, and closes it after two seconds without an answer.
constexpr std::chrono::seconds kProbeDeadline{5};

http::ServerOptions options_of_port(std::uint16_t port, std::size_t connections_max) {
  http::ServerOptions options{.address = http::kEveryAddress, .port = port};
  options.unauthenticated_connections_max = connections_max;
  return options;
}

}  // namespace

http::ServerOptions options_of_metrics_port(std::uint16_t port) {
  http::ServerOptions options = options_of_port(port, kMetricsConnectionsMax);
  options.unauthenticated_deadline =
      options.idle_deadline;  // a scraper keeps its connection between two scrapes
  options.reply_deadline = kMetricsReplyDeadline;
  return options;
}

http::ServerOptions options_of_probe_port(std::uint16_t port) {
  http::ServerOptions options = options_of_port(port, kProbeConnectionsMax);
  options.unauthenticated_deadline = kProbeDeadline;
  options.reply_deadline = kProbeDeadline;
  return options;
}

Result<std::unique_ptr<http::HttpServer>> open_probe_port(std::uint16_t port,
                                                          std::function<std::string()> why_not_ready) {
  auto server = http::HttpServer::start(
      options_of_probe_port(port),
      [why = std::move(why_not_ready)](const http::ServerRequest& request, http::Responder responder) {
        if (request.path == "/healthz") return responder.send({.status = 200, .body = "ok\n"});
        if (request.path != "/readyz")
          return responder.send({.status = 404, .body = "/healthz and /readyz are on this port\n"});
        const std::string problem = why();
        responder.send(
            {.status = problem.empty() ? 200 : 503, .body = problem.empty() ? "ok\n" : problem + "\n"});
      });
  if (!server) return server.error().with_context("opening the port for probes");
  return server;
}

}  // namespace ratoon::runtime
