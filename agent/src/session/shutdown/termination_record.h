// The record of completion that a container leaves behind. Kubernetes keeps the record in the pod's status,
// where the operator finds it even if the operator was away when the process reported its completion.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// Does nothing if no file is named. If a pod has several processes, only the first one writes the record.
// The launcher of these processes exits with 0 only if all others have completed, too.
[[nodiscard]] Result<void> write_termination_record(const MemberOptions& member,
                                                    const CompletionRecord& record);

}  // namespace ratoon::session
