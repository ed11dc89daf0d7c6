#include "operator/kube/objects/lease.h"

#include <algorithm>
#include <limits>

#include "operator/kube/lenient_json.h"
#include "operator/kube/micro_time.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

// The API server refuses larger numbers in a Lease.
constexpr std::uint32_t kNumberMax = std::numeric_limits<std::int32_t>::max();

std::uint32_t positive_int_in(const json& spec, const char* name) {
  const auto value = int_field(spec, name).value_or(0);
  return value > 0 && value <= kNumberMax ? static_cast<std::uint32_t>(value) : 0;
}

json make_lease_spec(const std::string& holder, Duration duration, std::uint32_t transitions, WallTime now) {
  return {{"holderIdentity", holder},
          {"leaseDurationSeconds", std::chrono::duration_cast<std::chrono::seconds>(duration).count()},
          {"leaseTransitions", transitions},
          {"acquireTime", format_micro_time(now)},
          {"renewTime", format_micro_time(now)}};
}

json make_lease_patch(const Lease& read, json spec) {
  return {{"metadata", {{"resourceVersion", read.resource_version}}}, {"spec", std::move(spec)}};
}

}  // namespace

Lease read_lease(const json& object) {
  const json& spec = child(object, "spec");
  return {.holder = string_field(spec, "holderIdentity"),
          .duration_seconds = positive_int_in(spec, "leaseDurationSeconds"),
          .transitions = positive_int_in(spec, "leaseTransitions"),
          .resource_version = string_field(child(object, "metadata"), "resourceVersion")};
}

json make_lease(const std::string& name, const std::string& holder, Duration duration, WallTime now) {
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", name}}},
          {"spec", make_lease_spec(holder, duration, 0, now)}};
}

json make_lease_acquire_patch(const Lease& read, const std::string& holder, Duration duration, WallTime now) {
  // Limit the number of changes of the leader, which only informs people. If this number overflowed, the
  // server would refuse the lease of every new leader.
  const std::uint32_t transitions = std::min(read.transitions, kNumberMax - 1) + 1;
  return make_lease_patch(read, make_lease_spec(holder, duration, transitions, now));
}

json make_lease_renew_patch(const Lease& read, WallTime now) {
  return make_lease_patch(read, {{"renewTime", format_micro_time(now)}});
}

json make_lease_release_patch(const Lease& read, WallTime now) {
  return make_lease_patch(read, {{"holderIdentity", nullptr}, {"renewTime", format_micro_time(now)}});
}

}  // namespace ratoon::kube
