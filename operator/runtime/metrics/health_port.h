// The port of /metrics, /healthz and /readyz, which every pod of the cluster can reach without
// authentication. Even if one address opens many connections, the probes of the node's kubelet and a scraper
// keep their connections; and a slow reader of a page is cut off in time.
#pragma once

#include <cstdint>

#include "base/http/server.h"

namespace ratoon::runtime {

[[nodiscard]] http::ServerOptions options_of_health_port(std::uint16_t port);

}  // namespace ratoon::runtime
