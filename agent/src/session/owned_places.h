// Whose the places of a run are: which of them have to be claimed, by what name, and what that allows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/checkpoint/tiers/claim_rules.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// Where a lock of this machine does not reach. Processes of a world hold theirs together, so it does not tell
// two jobs apart either.
[[nodiscard]] std::vector<std::shared_ptr<checkpoint::Disk>> places_to_own(const checkpoint::Tiers& tiers,
                                                                           const Options& options);
// "node-1+5e0f33c1": a host, and digits of the start of its kernel, /proc/sys/kernel/random/boot_id. A disk
// that was cloned brings the name along, with folder, identity and inode, and not this.
[[nodiscard]] std::string text_of_host(const std::string& name, const std::string& boot);
// This process, as a start of the job with that identity.
[[nodiscard]] Result<checkpoint::Owner> owner_on_this_host(const Options& options,
                                                           const std::string& identity);
// folder_mark() of the run's folder, within the patience for its disk.
[[nodiscard]] Result<std::uint64_t> mark_of_home(const Options& options, checkpoint::PatientCalls& calls);

// Whether what is old may be removed from a place: other jobs reach those alone that are claimed.
[[nodiscard]] std::function<bool(const checkpoint::Disk&)> rule_of_cleaning(const checkpoint::Tiers& tiers,
                                                                            const Options& options,
                                                                            const checkpoint::Owner& owner);

}  // namespace ratoon::session
