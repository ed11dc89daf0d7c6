#include "agent/src/metrics/endpoint.h"

#include "agent/src/metrics/exposition.h"
#include "base/contract/names.h"
#include "base/http/server.h"

namespace ratoon::metrics {
namespace {

class HttpEndpoint final : public Endpoint {
 public:
  explicit HttpEndpoint(std::unique_ptr<http::HttpServer> server) : server_(std::move(server)) {}
  [[nodiscard]] std::uint16_t port() const override { return server_->port(); }

 private:
  std::unique_ptr<http::HttpServer> server_;
};

// Any program on the machine, or any pod in the cluster, can connect to the endpoint. If all connections are
// in use, a new client replaces the oldest connection. Prometheus can therefore always connect, even if a
// client keeps connections open or sends half a request. The limit saves descriptors and memory.
constexpr std::size_t kConnectionsMax = 32;
constexpr std::size_t kHeadBytesMax = 4096;
constexpr std::size_t kBodyBytesMax = 4096;  // a GET has none

http::ServerOptions server_options_for(const MemberOptions& member, std::uint16_t port) {
  http::ServerOptions options{.address = member.pod_ip.empty() ? "127.0.0.1" : member.pod_ip, .port = port};
  options.head_bytes_max = kHeadBytesMax;
  options.body_bytes_max = kBodyBytesMax;
  options.unauthenticated_connections_max = kConnectionsMax;
  options.unauthenticated_deadline =
      options.idle_deadline;  // a scraper keeps its connection between two scrapes
  return options;
}

http::Response answer_scrape(const http::ServerRequest& request, const MemberOptions& member,
                             const Meters& meters) {
  if (request.path != names::route::kMetrics) {
    return {.status = 404,
            .body = "not found; request " + std::string(names::route::kMetrics) + " instead\n"};
  }
  if (request.method != "GET") return {.status = 405, .headers = {{"Allow", "GET"}}, .body = "use GET\n"};
  return {.status = 200,
          .headers = {{"Content-Type", std::string(kContentType)}},
          .body = format_metrics(meters, member, SystemClock().now())};
}

}  // namespace

std::unique_ptr<Endpoint> open_endpoint(const MemberOptions& member, const Meters& meters,
                                        const Logger& logger) {
  const std::uint32_t port = metrics_port_of(member);
  if (port == 0) return nullptr;
  auto server = port > 65535
                    ? Error(ErrorKind::kInvalid, "there is no port " + std::to_string(port))
                    : http::HttpServer::start(
                          server_options_for(member, static_cast<std::uint16_t>(port)),
                          [member, &meters](const http::ServerRequest& request, http::Responder responder) {
                            responder.send(answer_scrape(request, member, meters));
                          });
  if (server) return std::make_unique<HttpEndpoint>(std::move(*server));
  logger.warning(
      "training goes on without /metrics: free the port, or set another port in RATOON_METRICS_PORT",
      {{"port", port}, {"error", server.error().message()}});
  return nullptr;
}

}  // namespace ratoon::metrics
