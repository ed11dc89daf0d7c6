// Uploads in parts that a process of an older attempt began and did not end: their parts lie in the store,
// are paid for, and nobody sees them. Whoever owns the place in a newer attempt aborts them. Those of its own
// attempt may be another rank's, and what is no pack of this run may be anybody's.
#pragma once

#include <cstdint>
#include <stop_token>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Those of the eight attempts before `own`: each of these looked for those before it. How many there were.
[[nodiscard]] Result<std::uint64_t> abort_dead_uploads(objects::ObjectStore& store, Attempt own,
                                                       const std::stop_token& stop);

}  // namespace ratoon::checkpoint
