// ProcessLimit: limits how many processes the jobs of one namespace have together. Without a limit, one
// tenant could use up the memory and the time of an operator that serves all tenants. A job counts as a
// whole, with the processes of all its members, while it has a pod. A job gets pods only if all its processes
// fit into the limit, because two jobs that each have half of their pods would wait for each other forever.
//
// Thread contract: any thread may call any method.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/threads/mutex.h"

namespace ratoon::runtime {

// Maps each job that has pods to the number of its processes, for the jobs of one namespace.
using ProcessesInUse = std::map<JobKey, std::uint64_t>;

class ProcessLimit {
 public:
  // While an Admission exists, its job counts as one with pods: its pods may not be in the cache yet.
  class Admission {
   public:
    Admission() = default;
    Admission(ProcessLimit& limit, JobKey job) : limit_(&limit), job_(std::move(job)) {}
    Admission(Admission&& other) noexcept;
    Admission& operator=(Admission&&) = delete;
    ~Admission();

   private:
    ProcessLimit* limit_ = nullptr;  // null: nothing to end
    JobKey job_;
  };

  // `each_max` is the limit of each namespace; 0 means no limit.
  explicit ProcessLimit(std::uint64_t each_max) : namespace_max_(each_max) {}

  // Admits a job with `processes` processes. Returns kNoSpace if the namespace has too few processes left for
  // the job.
  [[nodiscard]] Result<Admission> admit(const JobKey& job, std::uint64_t processes,
                                        const std::function<ProcessesInUse()>& read_in_use);

 private:
  void end_admission(const JobKey& job);

  const std::uint64_t namespace_max_;
  Mutex mutex_;
  std::map<JobKey, std::uint64_t> admitted_ RATOON_GUARDED_BY(mutex_);  // jobs whose pods are being created
};

}  // namespace ratoon::runtime
