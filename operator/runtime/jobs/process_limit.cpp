#include "operator/runtime/jobs/process_limit.h"

#include <algorithm>
#include <utility>

#include "base/core/count_with_noun.h"

namespace ratoon::runtime {

ProcessLimit::Admission::Admission(Admission&& other) noexcept
    : limit_(std::exchange(other.limit_, nullptr)), job_(std::move(other.job_)) {}

ProcessLimit::Admission::~Admission() {
  if (limit_ != nullptr) limit_->end_admission(job_);
}

Result<ProcessLimit::Admission> ProcessLimit::admit(const JobKey& job, std::uint64_t processes,
                                                    const std::function<ProcessesInUse()>& read_in_use) {
  if (namespace_max_ == 0) return Admission();
  const MutexLock lock(mutex_);
  ProcessesInUse in_use = read_in_use();
  for (const auto& [other, admitted] : admitted_)
    if (other.name_space == job.name_space) in_use[other] = std::max(in_use[other], admitted);
  in_use.erase(job);
  std::uint64_t of_others = 0;
  for (const auto& [other, used] : in_use) of_others += used;
  if (of_others + processes > namespace_max_) {
    return Error(
        ErrorKind::kNoSpace,
        "this job has " + count_with_noun(processes, "process", "processes") +
            ", the other jobs with pods in namespace " + job.name_space + " have " +
            std::to_string(of_others) + ", and the operator allows " + std::to_string(namespace_max_) +
            " in each namespace: end or suspend other jobs, make this job smaller, or ask the administrator "
            "to raise processesPerNamespace");
  }
  admitted_[job] = processes;
  return Admission(*this, job);
}

void ProcessLimit::end_admission(const JobKey& job) {
  const MutexLock lock(mutex_);
  admitted_.erase(job);
}

}  // namespace ratoon::runtime
