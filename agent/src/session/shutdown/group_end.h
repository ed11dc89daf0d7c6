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

// Calls `tell` again and again, until it returns true (all ranks are informed) or the time `give_up` has
// come, because some ranks may start later.
void call_until_all_informed(const std::function<Result<bool>()>& tell, Timestamp give_up, Duration look,
                             const Clock& clock);

// A rank that ends before it has a Link to the other ranks calls tell_group_of_end(). Informs the ranks that
// wait for this rank, for at most the time `patience.telling`. Does nothing if the processes of the launch do
// not use a folder to find each other.
void tell_group_of_end(const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                       const std::string& why, const GroupTimeouts& patience = {});

}  // namespace ratoon::session
