#include "tests/support/accelerator/faults.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <c10/util/Exception.h>

namespace ratoon::test::accelerator {
namespace {

constexpr std::int32_t kNoDevice = 100;  // cudaErrorNoDevice

struct Faults {
  std::mutex mutex;
  std::condition_variable hangs_have_ended;
  bool is_broken = false;
  bool has_vanished = false;
  std::int32_t code = 0;
  std::string reason;
  std::uint64_t armed_hangs = 0;
  std::uint64_t ends_of_hangs = 0;
  std::size_t hanging = 0;
  std::uint64_t allocations_to_failure = 0;  // 0: none fails
};

// The object is never destroyed: threads of streams read it until the process ends.
Faults& faults() {
  static auto* const kept = std::make_unique<Faults>().release();
  return *kept;
}

}  // namespace

void break_device(std::int32_t code, const std::string& reason) {
  const std::lock_guard lock(faults().mutex);
  if (faults().is_broken) return;  // the first error stays
  faults().is_broken = true;
  faults().code = code;
  faults().reason = reason;
}

void vanish() {
  break_device(kNoDevice, "the device is gone");
  const std::lock_guard lock(faults().mutex);
  faults().has_vanished = true;
}

void hang_next_kernel() {
  const std::lock_guard lock(faults().mutex);
  ++faults().armed_hangs;
}

void end_hangs() {
  const std::lock_guard lock(faults().mutex);
  faults().armed_hangs = 0;
  ++faults().ends_of_hangs;
  faults().hangs_have_ended.notify_all();
}

std::size_t hanging_kernels() {
  const std::lock_guard lock(faults().mutex);
  return faults().hanging;
}

void fail_allocation(std::uint64_t n) {
  const std::lock_guard lock(faults().mutex);
  faults().allocations_to_failure = n;
}

void heal() {
  end_hangs();
  const std::lock_guard lock(faults().mutex);
  faults().is_broken = false;
  faults().has_vanished = false;
  faults().allocations_to_failure = 0;
}

void check_is_alive(const char* call) {
  const std::lock_guard lock(faults().mutex);
  if (!faults().is_broken) return;
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, faults().code,
                              "the test accelerator was asked to " + std::string(call) + " after error " +
                                  std::to_string(faults().code) + ": " + faults().reason);
}

bool is_alive() {
  const std::lock_guard lock(faults().mutex);
  return !faults().is_broken;
}

bool has_vanished() {
  const std::lock_guard lock(faults().mutex);
  return faults().has_vanished;
}

std::optional<std::uint64_t> take_hang() {
  const std::lock_guard lock(faults().mutex);
  if (faults().armed_hangs == 0) return std::nullopt;
  --faults().armed_hangs;
  return faults().ends_of_hangs;
}

void hang_until_after(std::uint64_t end) {
  std::unique_lock lock(faults().mutex);
  ++faults().hanging;
  faults().hangs_have_ended.wait(lock, [end] { return faults().ends_of_hangs > end; });
  --faults().hanging;
}

bool take_allocation_failure() {
  const std::lock_guard lock(faults().mutex);
  return faults().allocations_to_failure > 0 && --faults().allocations_to_failure == 0;
}

}  // namespace ratoon::test::accelerator
