// Sets limits for the port of /metrics and the port of the probes /healthz and /readyz, because every
// pod of the cluster can reach these two ports without authentication. If one address opens many
// connections, Prometheus and the kubelet can still connect, and a client that reads a page too
// slowly is disconnected. The probes have a port of their own, so that readers of /metrics never
// delay them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/http/server.h"

namespace ratoon::runtime {

[[nodiscard]] http::ServerOptions options_of_metrics_port(std::uint16_t port);
[[nodiscard]] http::ServerOptions options_of_probe_port(std::uint16_t port);

// Answers /healthz with 200, and /readyz with 200 if `why_not_ready` returns an empty text, otherwise with
// 503 and this text. Several threads may call `why_not_ready` at once.
[[nodiscard]] Result<std::unique_ptr<http::HttpServer>> open_probe_port(
    std::uint16_t port, std::function<std::string()> why_not_ready);

}  // namespace ratoon::runtime
