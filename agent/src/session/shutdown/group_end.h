// If a rank ends and would fail again after a restart, it gives the reason to the other ranks of its launch,
// so that they do not wait.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/session/rendezvous/group_rendezvous.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Calls the function `tell` until it returns true, which means that all ranks are informed, or until the time
// `give_up`. Repeated calls are needed because some ranks may start later.
void repeat_until_all_informed(const std::function<Result<bool>()>& tell, Timestamp give_up, Duration look,
                               const Clock& clock);

// A rank that ends before it has a Link to the other ranks calls report_end_to_group(). Informs the ranks
// that wait for this rank, and retries for at most the time `patience.end_report_timeout`. Does nothing if
// the processes of the launch do not use a folder to find each other.
void report_end_to_group(const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                         const std::string& why, const GroupTimeouts& patience = {});

}  // namespace ratoon::session
