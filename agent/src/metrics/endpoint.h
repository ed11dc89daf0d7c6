// Endpoint: an HTTP server that serves the metrics of one process at /metrics. The endpoint is opened only if
// a port is set. If the endpoint fails, the process logs a warning and continues, because training does not
// depend on monitoring.
#pragma once

#include <cstdint>
#include <memory>

#include <ratoon/options.h>

#include "agent/src/metrics/meters.h"
#include "base/core/log.h"

namespace ratoon::metrics {

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

// Returns the port to open, or 0 if no port is set. The port of a process is a first port plus the local rank
// of the process. The first port is `member.metrics_port` or, if this option is not set and the process runs
// in a pod, names::port::kAgentMetrics.
[[nodiscard]] std::uint32_t metrics_port_of(const MemberOptions& member);

// Returns null if no port is set. Returns null and logs a warning if the port cannot be opened. `meters` must
// exist until the Endpoint is destroyed.
[[nodiscard]] std::unique_ptr<Endpoint> open_endpoint(const MemberOptions& member, const Meters& meters,
                                                      const Logger& logger);

}  // namespace ratoon::metrics
