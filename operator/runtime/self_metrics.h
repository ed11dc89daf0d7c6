// SelfMetrics: what Prometheus reads of the operator itself: its calls to the API server, how far its copies
// are behind, which jobs wait for a look, and what the process takes. OperatorMetrics has the jobs.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "operator/coordinator/coordinator.h"
#include "operator/runtime/api_client.h"
#include "operator/runtime/work_queue.h"

namespace ratoon::runtime {

// What is looked up when somebody asks.
struct Vitals {
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

  // In Prometheus' text format.
  [[nodiscard]] std::string text(const Vitals& vitals) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// This process: sets memory_bytes and cpu_seconds; what cannot be read stays 0.
void look_at_process(Vitals& vitals);

}  // namespace ratoon::runtime
