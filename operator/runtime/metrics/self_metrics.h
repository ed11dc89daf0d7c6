// SelfMetrics: the metrics of the operator itself: its calls to the API server, the age of its copies, the
// jobs that wait for a decision, and the resources of the process. OperatorMetrics has the metrics of jobs.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "operator/coordinator/coordinator.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/jobs/work_queue.h"

namespace ratoon::runtime {

// Values that are read at each scrape.
struct OperatorVitals {
  std::map<std::string_view, double> seconds_behind{};  // of each copy, by resource
  WorkQueue::Backlog backlog{};
  coordinator::Coordinator::Load load{};
  bool is_leading = false;
  std::optional<WallTime> certificate_ends{};  // nothing: members call without TLS
  double memory_bytes = 0;
  double cpu_seconds = 0;
};

class SelfMetrics {
 public:
  SelfMetrics();
  ~SelfMetrics();
  SelfMetrics(const SelfMetrics&) = delete;
  SelfMetrics& operator=(const SelfMetrics&) = delete;

  void note_call(const ApiCall& call);

  // The text is in Prometheus' format.
  [[nodiscard]] std::string text(const OperatorVitals& vitals) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// Sets memory_bytes and cpu_seconds of this process; a value that cannot be read stays 0.
void measure_process(OperatorVitals& vitals);

}  // namespace ratoon::runtime
