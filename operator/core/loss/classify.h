// Classifies why a member (pod) ended. Decides by the first of these facts that applies: completion record,
// deletion, the job's own rules, disruption by the platform, exit code; else the cause is unknown.
#pragma once

#include <string>

#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::core {

enum class EndCause {
  kCompleted,    // all its processes reported their completion
  kDisruption,   // an outside cause; not counted
  kApplication,  // the program failed; counts against maxRestarts
  // The member was alive but made no progress (hung). A hang counts against maxRestarts, but the operator
  // creates the next pod without a pause.
  kHung,
  kFatal,  // the same start would fail again; the job fails
};

struct MemberEnd {
  EndCause cause;
  std::string explanation;  // `exit code 82 (configuration): the same start would fail again`
  bool is_shared = false;   // all losses of one observation that share this cause count as one failure
  bool is_kubelet_rejection =
      false;  // the node did not start the pod: the next pod waits, as after a failure
  // The node's GPU is unusable: the job avoids this node, and the end does not count as a failure.
  bool is_device_fault = false;
  bool is_storage_fault = false;  // storage cannot be written or read: the next pod waits, as after a failure
  bool is_whole_job_unheard =
      false;  // no process of the job has sent a message: perhaps none can reach the operator
  bool is_platform_caused = false;  // the platform is the cause: the program is not to blame
  bool is_unreachable = false;      // it and others cannot connect to each other: its node is avoided
};

// Returns whether the end counts against maxRestarts or fails the job at once.
[[nodiscard]] bool is_failure(const MemberEnd& ending);

// The job's own restart rules take precedence over the built-in meaning of an exit code or reason, but not
// over a completion or a deletion.
[[nodiscard]] MemberEnd classify(const api::Pod& pod, bool is_completed,
                                 const api::RestartPolicy& policy = {});

}  // namespace ratoon::core
