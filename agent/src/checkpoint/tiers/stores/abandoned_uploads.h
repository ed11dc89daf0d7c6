// Aborts multipart uploads that a process of an older attempt began and did not finish. The parts of an
// unfinished upload are invisible, but their storage costs money. The process of a newer attempt that owns
// the store aborts the uploads. Uploads of the current attempt continue, because another rank may be sending
// them. Uploads of files other than packs and part files of this run also continue. In a store that is a
// folder (file://), all temporary files that are older than one hour are removed, too.
#pragma once

#include <cstdint>
#include <stop_token>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Aborts uploads of the eight attempts before `own`. Uploads of attempts before own - 8 were aborted when an
// earlier attempt began. Returns the number of aborted uploads.
[[nodiscard]] Result<std::uint64_t> abort_abandoned_uploads(objects::ObjectStore& store, Attempt own,
                                                            const std::stop_token& stop);

}  // namespace ratoon::checkpoint
