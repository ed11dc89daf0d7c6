// The ownership of a run's locations: which of them have to be claimed, under which name, and what a claim
// allows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/tiers/claim_rules.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// The locations that no lock protects from other jobs: stores; the home of a world with a coordinator, whose
// processes share their lock; and a home whose locks may not be visible on other machines.
[[nodiscard]] std::vector<std::shared_ptr<checkpoint::Disk>> locations_to_claim(
    const checkpoint::Tiers& tiers, const Options& options, bool has_home_lock);
// Whether this process keeps the claims of its job alive while it waits for a world. A few processes do, so
// that the load on a store does not grow with the job.
[[nodiscard]] bool keeps_claims_alive(const Options& options);
// "node-1+5e0f33c1": a host name, and digits of the boot id of its kernel, /proc/sys/kernel/random/boot_id. A
// cloned disk has the host name, the folder, its identity and inode of the original, but another boot id.
[[nodiscard]] std::string host_text(const std::string& name, const std::string& boot);
// Describes this process as an owner: one start of the job with the given identity.
[[nodiscard]] Result<checkpoint::Owner> owner_on_this_host(const Options& options,
                                                           const std::string& identity);
// Returns folder_mark() of the run's folder, within the timeout of its disk.
[[nodiscard]] Result<std::uint64_t> mark_of_home(const Options& options, checkpoint::CallsWithTimeout& calls);

// Whether old files may be removed from a location. Other jobs can reach only the locations that have to be
// claimed.
[[nodiscard]] std::function<bool(const checkpoint::Disk&)> cleaning_rule(
    const std::vector<std::shared_ptr<checkpoint::Disk>>& claimed, const checkpoint::Owner& owner);

}  // namespace ratoon::session
