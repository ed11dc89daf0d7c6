// The record of completion that a container leaves behind: Kubernetes keeps it in the pod's status, where the
// operator finds it even if it was away when the process said that it was done.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// Does nothing where no file is named, or where other processes of the pod would write the same one.
[[nodiscard]] Result<void> write_termination_record(const MemberOptions& member,
                                                    const CompletionRecord& record);

}  // namespace ratoon::session
