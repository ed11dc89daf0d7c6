// Writes the completion record of a container. Kubernetes keeps the record in the pod's status, where an
// operator that was away finds it later.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// If the pod names no file for the record, does nothing. In a pod with several processes only the first
// process writes the record. The launcher of those processes exits with 0 only if all of them have completed.
[[nodiscard]] Result<void> write_termination_record(const MemberOptions& member,
                                                    const CompletionRecord& record);

}  // namespace ratoon::session
