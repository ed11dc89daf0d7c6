// Endpoint: /metrics of one process over HTTP. Nothing is opened unless it is asked for, and what goes wrong
// here is a warning: training does not depend on being watched.
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

// The port that is asked for; 0: none. In a pod the default is names::port::kAgentMetrics. Each process of a
// pod has the port of its own that follows from its local rank.
[[nodiscard]] std::uint32_t port_of(const MemberOptions& member);

// Null if no port is asked for, or with a warning if it cannot be had. The meters outlive it.
[[nodiscard]] std::unique_ptr<Endpoint> open_endpoint(const MemberOptions& member, const Meters& meters,
                                                      const Logger& logger);

}  // namespace ratoon::metrics
