// operator/kube/objects/: the other objects that the operator reads and writes. A Lease of
// coordination.k8s.io names the operator that leads. The times in a Lease are from its holder's clock and are
// only for people. Candidates measure from the moment at which they saw the Lease change.
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

// Returns the whole object, for the case that there is no Lease.
[[nodiscard]] nlohmann::json make_lease(const std::string& name, const std::string& holder, Duration duration,
                                        WallTime now);
// The functions below return patches of the lease that was read. The server refuses each patch if the lease
// was written after it was read.
[[nodiscard]] nlohmann::json take_lease(const Lease& read, const std::string& holder, Duration duration,
                                        WallTime now);
[[nodiscard]] nlohmann::json renew_lease(const Lease& read, WallTime now);
[[nodiscard]] nlohmann::json give_back_lease(const Lease& read, WallTime now);

}  // namespace ratoon::kube
