// OperatorMetrics: what Prometheus reads from the operator: each job's phase, progress and losses, and where
// the seconds of its recoveries went. The numbers live here and not in members, so that curves survive them.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <memory>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::runtime {

class OperatorMetrics {
 public:
  OperatorMetrics();
  ~OperatorMetrics();
  OperatorMetrics(const OperatorMetrics&) = delete;
  OperatorMetrics& operator=(const OperatorMetrics&) = delete;

  // What a decision made of a job: `before` is what was stored.
  void note_status(const JobKey& job, const api::TrainingJobStatus& before,
                   const api::TrainingJobStatus& after);
  void note_decision_seconds(double seconds);  // of all jobs alike
  void forget(const JobKey& job);

  // In Prometheus' text format.
  [[nodiscard]] std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace ratoon::runtime
