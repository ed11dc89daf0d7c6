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

std::uint32_t count_in(const json& spec, const char* name) {
  const auto value = whole_in(spec, name).value_or(0);
  return value > 0 && value <= kNumberMax ? static_cast<std::uint32_t>(value) : 0;
}

json claim(const std::string& holder, Duration duration, std::uint32_t transitions, WallTime now) {
  return {{"holderIdentity", holder},
          {"leaseDurationSeconds", std::chrono::duration_cast<std::chrono::seconds>(duration).count()},
          {"leaseTransitions", transitions},
          {"acquireTime", format_micros(now)},
          {"renewTime", format_micros(now)}};
}

json patch_of(const Lease& read, json spec) {
  return {{"metadata", {{"resourceVersion", read.resource_version}}}, {"spec", std::move(spec)}};
}

}  // namespace

Lease read_lease(const json& object) {
  const json& spec = child(object, "spec");
  return {.holder = text_in(spec, "holderIdentity"),
          .duration_seconds = count_in(spec, "leaseDurationSeconds"),
          .transitions = count_in(spec, "leaseTransitions"),
          .resource_version = text_in(child(object, "metadata"), "resourceVersion")};
}

json make_lease(const std::string& name, const std::string& holder, Duration duration, WallTime now) {
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", name}}},
          {"spec", claim(holder, duration, 0, now)}};
}

json take_lease(const Lease& read, const std::string& holder, Duration duration, WallTime now) {
  // The number of changes of the leader only informs people, but an overflow would make the server refuse
  // every new leader.
  const std::uint32_t transitions = std::min(read.transitions, kNumberMax - 1) + 1;
  return patch_of(read, claim(holder, duration, transitions, now));
}

json renew_lease(const Lease& read, WallTime now) {
  return patch_of(read, {{"renewTime", format_micros(now)}});
}

json give_back_lease(const Lease& read, WallTime now) {
  return patch_of(read, {{"holderIdentity", nullptr}, {"renewTime", format_micros(now)}});
}

}  // namespace ratoon::kube
