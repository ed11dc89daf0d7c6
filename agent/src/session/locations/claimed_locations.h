// Decides which of a run's locations have to be claimed, under which name, and what a claim
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

// Returns the locations that no lock of this machine protects. Processes of a world share a lock, so the lock
// does not distinguish two jobs.
[[nodiscard]] std::vector<std::shared_ptr<checkpoint::Disk>> locations_to_claim(
    const checkpoint::Tiers& tiers, const Options& options);
// Returns whether this process keeps its job's claims alive while it waits for a world. Only a few processes
// keep claims alive, so that the load on a store does not grow with the job.
[[nodiscard]] bool keeps_claims_alive(const Options& options);
// Returns a text such as "node-1+5e0f33c1": the host name, and digits of its kernel's boot id. A clone of a
// machine's disk has the host name, folder, identity and inode of the original, but another boot id.
[[nodiscard]] std::string host_text(const std::string& name, const std::string& boot);
// Describes this process as an owner of locations: a start of the job that has the given identity.
[[nodiscard]] Result<checkpoint::Owner> owner_on_this_host(const Options& options,
                                                           const std::string& identity);
// Returns folder_mark() of the run's folder, within the timeout of its disk.
[[nodiscard]] Result<std::uint64_t> mark_of_home(const Options& options, checkpoint::CallsWithTimeout& calls);

// Returns the rule whether a process may remove old files from a location: a location that has to be claimed
// must still be this job's.
[[nodiscard]] std::function<bool(const checkpoint::Disk&)> cleaning_rule(const checkpoint::Tiers& tiers,
                                                                         const Options& options,
                                                                         const checkpoint::Owner& owner);

}  // namespace ratoon::session
