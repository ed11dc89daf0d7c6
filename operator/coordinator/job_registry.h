// The interface through which the operator's reconcile loop uses the coordinator, job by job.
#pragma once

#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/api/world.h"

namespace ratoon::coordinator {

class JobRegistry {
 public:
  virtual ~JobRegistry() = default;

  // Begins to serve a job, or sends a changed announcement to its agents. The coordinator refuses calls for
  // jobs that it does not serve.
  virtual void announce(const JobKey& job, const api::Announcement& announcement) = 0;
  virtual void close(const JobKey& job) = 0;
  // When the job is over, call forget_processes() to forget the facts about its processes. The coordinator
  // still answers calls of the job's processes, with the message that the job is over.
  virtual void forget_processes(const JobKey& job) = 0;

  [[nodiscard]] virtual std::vector<api::ProcessFacts> processes(const JobKey& job) const = 0;
  [[nodiscard]] virtual std::vector<api::AssignedProcess> world(const JobKey& job) const = 0;
  // Returns since when the coordinator has received this job's heartbeats without a stall of the operator
  // process. The returned time is never before the time when the coordinator began to serve the job.
  [[nodiscard]] virtual Timestamp listening_since(const JobKey& job) const = 0;
};

}  // namespace ratoon::coordinator
