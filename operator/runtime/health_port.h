// The port of /metrics, /healthz and /readyz, which every pod of the cluster can reach and where no client
// shows who it is. However many connections one address keeps open, the probes of the node's kubelet and a
// scraper keep their places; and a reader that takes a page slowly is cut in time.
#pragma once

#include <cstdint>

#include "base/http/server.h"

namespace ratoon::runtime {

[[nodiscard]] http::ServerOptions options_of_health_port(std::uint16_t port);

}  // namespace ratoon::runtime
