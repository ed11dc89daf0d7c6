#include "agent/src/metrics/endpoint.h"
#include "base/contract/names.h"

namespace ratoon::metrics {

std::uint32_t metrics_port_of(const MemberOptions& member) {
  const bool is_in_pod = !member.pod_ip.empty();
  const std::uint32_t first = member.metrics_port.value_or(is_in_pod ? names::port::kAgentMetrics : 0U);
  return first == 0 ? 0 : first + member.local_rank;
}

}  // namespace ratoon::metrics
