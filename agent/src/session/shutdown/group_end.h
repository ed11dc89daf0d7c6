// A rank that ends for good gives the reason to the other ranks of its launch, so that those ranks do not
// wait for the rank.
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

// Calls `tell` until the reason has reached all ranks, or until the time `give_up`, because some ranks may
// not have called yet.
void call_until_all_informed(const std::function<Result<bool>()>& tell, Timestamp give_up, Duration look,
                             const Clock& clock);

// A rank that ends for good before it has a link calls tell_group_of_end(). Gives the reason to the ranks
// that wait for this rank, for up to `patience.telling`. If the processes of the launch do not meet in a
// folder, does nothing.
void tell_group_of_end(const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                       const std::string& why, const GroupTimeouts& patience = {});

}  // namespace ratoon::session
