// Decides which of a run's locations (folders and stores) need a claim, and names the owner in the claim. A
// claim is the file by which a job owns a location. A term is the time in which a location belongs to one job
// without a break (claim_rules.h).
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
// With a coordinator, all processes share a folder's lock, so the lock cannot exclude another job.
[[nodiscard]] std::vector<std::shared_ptr<checkpoint::Disk>> locations_to_claim(
    const checkpoint::Tiers& tiers, const Options& options);
// Returns whether this process keeps its job's claims alive while it waits for other ranks. Only a few
// processes keep claims alive, so that the load on a store does not grow with the number of processes.
[[nodiscard]] bool keeps_claims_alive(const Options& options);
// Returns a text such as "node-1+5e0f33c1": the host name, and the first digits of the kernel's boot id.
// Machines with cloned disks may have equal host names, folders, identities and inodes, but not boot ids.
[[nodiscard]] std::string host_name_with_boot_id(const std::string& name, const std::string& boot);
// Returns the Owner with which this process claims locations, for the job with the given identity.
[[nodiscard]] Result<checkpoint::Owner> owner_on_this_host(const Options& options,
                                                           const std::string& identity);
// Returns folder_inode_hash() of the run's folder, or an error if the disk hangs for the timeout of `calls`.
[[nodiscard]] Result<std::uint64_t> read_home_folder_hash(const Options& options,
                                                          checkpoint::CallsWithTimeout& calls);
// Computes the mark (a hash) of staging slots from the folder's mark and the claim's term. A staged save of
// an earlier process is committed only if its mark is equal, that is, if no other job used the folder since.
[[nodiscard]] std::uint64_t staging_mark(std::uint64_t mark_of_folder, std::uint64_t term);

// cleaning_rule() returns a function that decides whether a process may remove old files from a location. If
// a location needs a claim, the job must still own the claim in the term that the function `term_of` returns.
using CleaningRule = std::function<bool(const checkpoint::Disk&)>;
using TermReader = std::function<std::uint64_t(const checkpoint::Disk&)>;
[[nodiscard]] CleaningRule cleaning_rule(const checkpoint::Tiers& tiers, const Options& options,
                                         const checkpoint::Owner& owner, TermReader term_of);

}  // namespace ratoon::session
