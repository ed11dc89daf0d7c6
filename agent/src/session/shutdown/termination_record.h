// Writes the record that the run is complete to the termination message file of the container. Kubernetes
// copies the record to the pod's status, where an operator that did not run at that time finds it later.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// Does nothing if no file for the record is configured. If the pod has several processes, only the process
// with local rank 0 writes the record. The launcher in the pod exits with 0 only if all processes have
// completed.
[[nodiscard]] Result<void> write_termination_record(const MemberOptions& member,
                                                    const CompletionRecord& record);

}  // namespace ratoon::session
