// Writes the meters of a process in the text format of Prometheus.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/options.h>

#include "agent/src/metrics/meters.h"

namespace ratoon::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

[[nodiscard]] std::string format_metrics(const Meters& meters, const MemberOptions& member, Timestamp now);

}  // namespace ratoon::metrics
