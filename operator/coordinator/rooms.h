// What the operator's loop asks the agents' door of each job, and tells it.
#pragma once

#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/api/world.h"

namespace ratoon::coordinator {

class Rooms {
 public:
  virtual ~Rooms() = default;

  // Opens a job's door, or tells its agents something new. Calls for jobs without a door are refused.
  virtual void announce(const JobKey& job, const api::Announcement& announcement) = 0;
  virtual void close(const JobKey& job) = 0;
  // The job is over: what its processes said is forgotten. Its door stays open and says that it is over.
  virtual void forget_processes(const JobKey& job) = 0;

  [[nodiscard]] virtual std::vector<api::ProcessFacts> processes(const JobKey& job) const = 0;
  [[nodiscard]] virtual std::vector<api::Seat> world(const JobKey& job) const = 0;
  // Since when beats of this job were heard without a stall of this process: not before its door was open.
  [[nodiscard]] virtual Timestamp listening_since(const JobKey& job) const = 0;
};

}  // namespace ratoon::coordinator
