#include "tests/support/accelerator/counts.h"

#include <memory>
#include <mutex>
#include <set>

namespace ratoon::test::accelerator {
namespace {

struct Tally {
  std::mutex mutex;
  Counts counts;
  std::set<std::string> fallback_names;
};

// The object is never destroyed: threads count until the process ends.
Tally& tally() {
  static auto* const kept = std::make_unique<Tally>().release();
  return *kept;
}

void add_one(std::uint64_t Counts::* count) {
  const std::lock_guard lock(tally().mutex);
  ++(tally().counts.*count);
}

}  // namespace

Counts counts() {
  const std::lock_guard lock(tally().mutex);
  return tally().counts;
}

void reset_counts() {
  const std::lock_guard lock(tally().mutex);
  tally().counts = {};
  tally().fallback_names.clear();
}

std::vector<std::string> fallback_names() {
  const std::lock_guard lock(tally().mutex);
  return {tally().fallback_names.begin(), tally().fallback_names.end()};
}

void count_host_synchronization() {
  add_one(&Counts::host_synchronizations);
}

void count_event_synchronization() {
  const std::lock_guard lock(tally().mutex);
  ++tally().counts.host_synchronizations;
  ++tally().counts.event_synchronizations;
}

void count_allocation() {
  add_one(&Counts::allocations);
}

void count_host_copy() {
  add_one(&Counts::host_copies);
}

void count_kernel() {
  add_one(&Counts::kernels);
}

void count_event_call_from_other_device() {
  add_one(&Counts::event_calls_from_other_devices);
}

void count_fallback(const std::string& name) {
  const std::lock_guard lock(tally().mutex);
  ++tally().counts.fallbacks;
  tally().fallback_names.insert(name);
}

}  // namespace ratoon::test::accelerator
