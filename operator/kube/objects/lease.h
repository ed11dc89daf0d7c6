// This folder: the other objects that the operator reads and writes. A Lease of coordination.k8s.io names the
// operator that leads. Its times are from its holder's clock and are only for people; candidates measure from
// the moment at which they saw it change.
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

// The whole object, for the case that there is none.
[[nodiscard]] nlohmann::json make_lease(const std::string& name, const std::string& holder, Duration duration,
                                        WallTime now);
// Patches of the lease that was read. The server refuses each if the lease was written since.
[[nodiscard]] nlohmann::json take_lease(const Lease& read, const std::string& holder, Duration duration,
                                        WallTime now);
[[nodiscard]] nlohmann::json renew_lease(const Lease& read, WallTime now);
[[nodiscard]] nlohmann::json give_back_lease(const Lease& read, WallTime now);

}  // namespace ratoon::kube
