// The record of completion that a container leaves behind: Kubernetes keeps it in the pod's status, where the
// operator finds it even if it was away when the process said that it was done.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"

namespace ratoon::session {

// Does nothing where no file is named. Of several processes in a pod the first writes it; the exit code of
// their launcher says that the others are done as well.
[[nodiscard]] Result<void> write_termination_record(const MemberOptions& member,
                                                    const CompletionRecord& record);

}  // namespace ratoon::session
