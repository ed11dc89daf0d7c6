// operator/kube/objects/: objects other than jobs, pods and nodes that the operator reads and writes. A Lease
// of coordination.k8s.io names the leader. The times in a Lease come from its holder's clock, and only inform
// people. Candidates measure the Lease's duration from the moment at which they saw the Lease change.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"

namespace ratoon::kube {

struct Lease {
  std::string holder;  // empty: the lease was given back
  std::uint32_t duration_seconds = 0;
  std::uint32_t transitions = 0;
  std::string resource_version;

  friend bool operator==(const Lease&, const Lease&) = default;
};

[[nodiscard]] Lease read_lease(const nlohmann::json& object);

// Returns a complete Lease, which the caller creates if the Lease does not exist yet.
[[nodiscard]] nlohmann::json make_lease(const std::string& name, const std::string& holder, Duration duration,
                                        WallTime now);
// The functions below return patches for the Lease `read`. The server refuses a patch if the Lease was
// written after it was read.
[[nodiscard]] nlohmann::json make_lease_acquire_patch(const Lease& read, const std::string& holder,
                                                      Duration duration, WallTime now);
[[nodiscard]] nlohmann::json make_lease_renew_patch(const Lease& read, WallTime now);
[[nodiscard]] nlohmann::json make_lease_release_patch(const Lease& read, WallTime now);

}  // namespace ratoon::kube
