#include "agent/src/torch/collectives/graveyard.h"

#include <mutex>
#include <string>
#include <vector>

#include <ratoon/failure.h>

#include "agent/src/session/leaving.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr std::size_t kGravesMax = 16;

struct Grave {
  std::shared_ptr<void> remains;
  std::function<bool()> is_over;
};

struct Graveyard {
  std::mutex mutex;
  std::vector<Grave> graves;  // guarded by mutex
};

// Never destroyed: at the end of the process its tenants may still be at work.
Graveyard& graveyard() {
  static auto* const it = std::make_unique<Graveyard>().release();
  return *it;
}

}  // namespace

void bury(std::shared_ptr<void> remains, std::function<bool()> is_over) {
  static std::once_flag asked;
  std::call_once(asked, [] { session::leave_at_once_if([] { return clear_graves() != 0; }); });
  {
    const std::scoped_lock lock(graveyard().mutex);
    graveyard().graves.push_back({std::move(remains), std::move(is_over)});
  }
  if (const std::size_t count = clear_graves(); count > kGravesMax) {
    throw Failure(static_cast<int>(ExitCode::kStartAgain),
                  std::to_string(count) +
                      " collectives were given up and still run: the process must be started afresh");
  }
}

std::size_t clear_graves() {
  std::vector<Grave> over;  // dies outside of the lock
  const std::scoped_lock lock(graveyard().mutex);
  auto& graves = graveyard().graves;
  for (std::size_t i = graves.size(); i-- > 0;) {
    if (!graves[i].is_over()) continue;
    over.push_back(std::move(graves[i]));
    graves.erase(graves.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return graves.size();
}

}  // namespace ratoon
