// Sets limits for the port of /metrics, /healthz and /readyz, which every pod of the cluster can reach
// without authentication. If one address opens many connections, kubelet's probes and Prometheus can still
// connect, and a client that reads a page too slowly is disconnected.
#pragma once

#include <cstdint>

#include "base/http/server.h"

namespace ratoon::runtime {

[[nodiscard]] http::ServerOptions options_of_health_port(std::uint16_t port);

}  // namespace ratoon::runtime
