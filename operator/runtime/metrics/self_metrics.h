// SelfMetrics: the metrics of the operator itself: its calls to the API server, the age of its cached
// objects, waiting jobs, and the process's resources. OperatorMetrics has the metrics of jobs.
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
#include "operator/runtime/scheduling/work_queue.h"

namespace ratoon::runtime {

// Values about the operator that each scrape by Prometheus reads again.
struct OperatorVitals {
  std::map<std::string_view, double> seconds_behind{};  // of each copy, by resource
  WorkQueue::Backlog backlog{};
  coordinator::Coordinator::Load load{};
  bool is_leading = false;
  std::optional<WallTime> certificate_expires_at{};  // nothing: members call without TLS
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

  // Returns the metrics in Prometheus' text format.
  [[nodiscard]] std::string text(const OperatorVitals& vitals) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// Sets memory_bytes and cpu_seconds from this process's usage; a value that cannot be read stays 0.
void measure_process(OperatorVitals& vitals);

}  // namespace ratoon::runtime
