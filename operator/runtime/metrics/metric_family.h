// Builds a metric family with the full name of its metric.
#pragma once

#include <string>
#include <string_view>

#include <prometheus/registry.h>

namespace ratoon::runtime {

//   auto& phase = build(registry, prometheus::BuildGauge(), names::metric::kJobPhase, "1 in ...");
template <class Builder>
auto& build(prometheus::Registry& to, Builder builder, std::string_view name, const char* help) {
  return builder.Name(std::string(name)).Help(help).Register(to);
}

}  // namespace ratoon::runtime
