// Decides which of a run's locations (folders and stores) need a claim, the file by which a job owns a
// location, and the name of its owner.
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

// Returns the locations that need a claim, because no lock of this machine protects them from another job.
// All processes of a job share a folder's lock, so the lock cannot distinguish two jobs.
[[nodiscard]] std::vector<std::shared_ptr<checkpoint::Disk>> locations_to_claim(
    const checkpoint::Tiers& tiers, const Options& options);
// Returns whether this process keeps its job's claims (marks of ownership) on stores alive while it waits for
// other ranks. Only a few processes keep claims alive, so that the load on a store does not grow with the
// number of processes.
[[nodiscard]] bool keeps_claims_alive(const Options& options);
// Returns a text such as "node-1+5e0f33c1": the host name, and the first digits of the kernel's boot id. On a
// machine with a cloned disk, host name, folder, identity and inode are equal, but the boot id differs.
[[nodiscard]] std::string host_text(const std::string& name, const std::string& boot);
// Returns the Owner with which this process claims locations, for the job with the given identity.
[[nodiscard]] Result<checkpoint::Owner> owner_on_this_host(const Options& options,
                                                           const std::string& identity);
// Returns folder_mark() of the run's folder. If the disk hangs, returns an error after its timeout.
[[nodiscard]] Result<std::uint64_t> mark_of_home(const Options& options, checkpoint::CallsWithTimeout& calls);
// Returns the mark of slots that are written, in the term `term`, to the folder with this mark. A pack that
// an earlier process left in memory is not committed if another job has used the folder since then.
[[nodiscard]] std::uint64_t mark_in_term(std::uint64_t mark_of_folder, std::uint64_t term);

// Returns a function that decides whether a process may remove old files from a location. A location that has
// to be claimed must still belong to this job in the term `term`.
[[nodiscard]] std::function<bool(const checkpoint::Disk&)> cleaning_rule(const checkpoint::Tiers& tiers,
                                                                         const Options& options,
                                                                         const checkpoint::Owner& owner,
                                                                         std::uint64_t term);

}  // namespace ratoon::session
