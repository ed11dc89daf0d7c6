// Why did a member end? Completion record, then deletion, then the job's own rules, then disruption, then
// exit code, then unknown.
#pragma once

#include <string>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::core {

enum class EndCause {
  kCompleted,    // every process of it reached the end and said so
  kDisruption,   // something outside took it away; free
  kApplication,  // the program failed; counts against maxRestarts
  kHung,         // it lived and did not move; counts against maxRestarts, and nothing waits before the next
  kFatal,        // the same start would fail again; the job fails
};

struct Ending {
  EndCause cause;
  std::string sentence;         // "exit code 82 (configuration): the same start would fail again"
  bool is_shared = false;       // one failure with all others of its cause that share one in that look
  bool is_rejection = false;    // its node did not start it: the next one waits, as after a failure
  bool is_of_device = false;    // the accelerator of its node is unusable: a node to avoid, and no failure
  bool is_of_storage = false;   // nothing can be saved or read: the next one waits, as after a failure
  bool is_unheard = false;      // no process of its job is: none may have a way to the operator
  bool is_of_platform = false;  // the platform says that it ended the pod: no program is to blame
};

// Whether it counts against maxRestarts or ends the job.
[[nodiscard]] bool is_failure(const Ending& ending);

// The job's own rules come before what a code or a reason means by itself, and after what was done to the
// pod.
[[nodiscard]] Ending classify(const api::Pod& pod, bool is_completed, const api::RestartPolicy& policy = {});

}  // namespace ratoon::core
