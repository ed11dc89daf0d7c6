// Classifies the cause of a member's end. The checks are in this order: completion record, deletion, the
// job's own rules, disruption, exit code, unknown.
#pragma once

#include <string>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::core {

enum class EndCause {
  kCompleted,    // all its processes reported their completion
  kDisruption,   // an outside cause; not counted
  kApplication,  // the program failed; counts against maxRestarts
  // The member was alive without progress; the end counts against maxRestarts, and its next pod is created
  // without a pause.
  kHung,
  kFatal,  // the same start would fail again; the job fails
};

struct MemberEnd {
  EndCause cause;
  std::string sentence;       // "exit code 82 (configuration): the same start would fail again"
  bool is_shared = false;     // all losses of one observation that share this cause count as one failure
  bool is_rejection = false;  // the node did not start the pod: the next pod waits, as after a failure
  // The node's accelerator is unusable: members avoid the node, and no failure is counted.
  bool is_of_device = false;
  bool is_of_storage = false;  // storage cannot be written or read: the next pod waits, as after a failure
  bool is_unheard = false;  // no process of the job has sent a message: perhaps none can reach the operator
  bool is_of_platform = false;  // the platform is the cause: the program is not to blame
  bool is_unreachable = false;  // it and others cannot connect to each other: its node is avoided
};

// Whether the end counts against maxRestarts or fails the job.
[[nodiscard]] bool is_failure(const MemberEnd& ending);

// The job's own rules take precedence over the meaning of an exit code or a reason, but not over a completion
// or a deletion.
[[nodiscard]] MemberEnd classify(const api::Pod& pod, bool is_completed,
                                 const api::RestartPolicy& policy = {});

}  // namespace ratoon::core
