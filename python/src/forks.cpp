#include "python/src/forks.h"

#include <atomic>
#include <mutex>

#include <pthread.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::python {
namespace {

std::atomic<std::uint64_t> forks_so_far{0};

}  // namespace

void count_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forks_so_far.fetch_add(1); }); });
}

std::uint64_t forks() {
  return forks_so_far.load();
}

void refuse_in_child(const std::string& what) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                what +
                    " belongs to the process that made it, and this process was forked from it: create "
                    "another object here");
}

}  // namespace ratoon::python
