// Multipart uploads that a process of an older attempt began and did not finish. The parts of an unfinished
// upload are invisible, but their storage costs money. The owner of the place in a newer attempt aborts
// unfinished uploads. The owner keeps uploads of its own attempt, which may be another rank's, and uploads
// that are no pack of this run.
#pragma once

#include <cstdint>
#include <stop_token>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Aborts the uploads of the eight attempts before `own`: these eight attempts have aborted earlier uploads.
// Returns the number of aborted uploads.
[[nodiscard]] Result<std::uint64_t> abort_abandoned_uploads(objects::ObjectStore& store, Attempt own,
                                                            const std::stop_token& stop);

}  // namespace ratoon::checkpoint
