// This file replaces endpoint.cpp in builds without base/http.
#include "agent/src/metrics/endpoint.h"

namespace ratoon::metrics {

std::unique_ptr<Endpoint> open_endpoint(const MemberOptions& member, const Meters&, const Logger& logger) {
  if (metrics_port_of(member) == 0) return nullptr;
  logger.warning("this build of ratoon has no HTTP (RATOON_WITH_HTTP=OFF) and shows no /metrics",
                 {{"port", metrics_port_of(member)}});
  return nullptr;
}

}  // namespace ratoon::metrics
