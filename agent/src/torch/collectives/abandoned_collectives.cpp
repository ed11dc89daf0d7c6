#include "agent/src/torch/collectives/abandoned_collectives.h"

#include <mutex>
#include <string>
#include <vector>

#include <ratoon/failure.h>

#include "agent/src/session/shutdown/process_exit.h"
#include "base/contract/exit_code.h"
#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"

namespace ratoon {
namespace {

constexpr std::size_t kAbandonedMax = 16;

struct AbandonedCollective {
  std::shared_ptr<void> work;
  std::function<bool()> is_over;
};

struct Registry {
  Mutex mutex;
  std::vector<AbandonedCollective> entries RATOON_GUARDED_BY(mutex);
};

// The list of abandoned collectives is never destroyed, because they may still run when the process ends.
Registry& registry() {
  static const NeverDestroyed<Registry> it;
  return *it;
}

}  // namespace

void keep_until_done(std::shared_ptr<void> work, std::function<bool()> is_over) {
  static std::once_flag asked;
  std::call_once(asked, [] { session::skip_teardown_if([] { return release_done_collectives() != 0; }); });
  {
    const MutexLock lock(registry().mutex);
    registry().entries.push_back({std::move(work), std::move(is_over)});
  }
  if (const std::size_t count = release_done_collectives(); count > kAbandonedMax) {
    throw Failure(static_cast<int>(ExitCode::kStartAgain),
                  std::to_string(count) + " abandoned collectives still run: the process must be restarted");
  }
}

std::size_t release_done_collectives() {
  std::vector<AbandonedCollective> over;  // destroyed after the lock is released
  const MutexLock lock(registry().mutex);
  auto& entries = registry().entries;
  for (std::size_t i = entries.size(); i-- > 0;) {
    if (!entries[i].is_over()) continue;
    over.push_back(std::move(entries[i]));
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return entries.size();
}

}  // namespace ratoon
