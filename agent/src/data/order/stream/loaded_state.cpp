// Detects that a program loads the state of a sample stream and then never uses that stream. If a program by
// mistake loads the state into one stream and trains with another stream, that other stream begins at slot 0.
// The destructor of the last copy of a loaded stream may write a warning to stderr. It writes the warning if
// this stream was never used, but the program took batches from another stream over the same sources. If the
// loaded state is at the end of the run, there is no warning, because no batch is left to take.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <ratoon/stream.h>

#include "agent/src/data/order/stream/recipe.h"
#include "agent/src/data/order/stream/stream_plan.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"

namespace ratoon {
namespace data {
namespace {

// Records the saved states that this process has loaded into streams from which no batch was taken yet.
struct UnusedLoadedStates {
  std::atomic<std::uint32_t> count{0};  // a batch needs no lock if this is 0
  Mutex mutex;
  std::vector<LoadedState*> all RATOON_GUARDED_BY(mutex);
};

UnusedLoadedStates& unused_loaded_states() {
  static const NeverDestroyed<UnusedLoadedStates> all;
  return *all;
}

bool have_same_names(const std::vector<RecipeSource>& some, const std::vector<RecipeSource>& others) {
  return std::equal(
      some.begin(), some.end(), others.begin(), others.end(),
      [](const RecipeSource& one, const RecipeSource& other) { return one.name == other.name; });
}

}  // namespace

class LoadedState {
 public:
  LoadedState(std::shared_ptr<const Recipe> recipe, std::uint64_t slot, std::uint64_t batches)
      : recipe_(std::move(recipe)), slot_(slot), batches_(batches) {
    const MutexLock lock(unused_loaded_states().mutex);
    unused_loaded_states().all.push_back(this);
    ++unused_loaded_states().count;
  }
  ~LoadedState() {
    {
      const MutexLock lock(unused_loaded_states().mutex);
      std::erase(unused_loaded_states().all, this);
      --unused_loaded_states().count;
    }
    if (!is_used_ && has_seen_other_stream_) complain();
  }
  LoadedState(const LoadedState&) = delete;
  LoadedState& operator=(const LoadedState&) = delete;

  void mark_used() { is_used_ = true; }
  void record_other_stream(const Recipe& recipe) {
    if (have_same_names(recipe_->sources, recipe.sources)) has_seen_other_stream_ = true;
  }

 private:
  void complain() const {
    const SystemClock clock;
    Logger(clock, {.format = LogFormat::kText})
        .warning(
            "the state of a sample stream was loaded and never used: another stream over the same data took "
            "batches instead. Train with the stream that the state was loaded into",
            {{"slot", slot_}, {"batches", batches_}, {"source", recipe_->sources.front().name}});
  }

  const std::shared_ptr<const Recipe> recipe_;
  const std::uint64_t slot_;
  const std::uint64_t batches_;
  std::atomic<bool> is_used_ = false;
  std::atomic<bool> has_seen_other_stream_ = false;
};

}  // namespace data

void Stream::note_load() {
  loaded_ = std::make_shared<data::LoadedState>(reader_.plan_->recipe, cursor_, batches_);
}

void Stream::forget_load() const {
  loaded_->mark_used();
  loaded_ = nullptr;
}

void Stream::note_batch() const {
  data::UnusedLoadedStates& waiting = data::unused_loaded_states();
  if (waiting.count == 0) return;
  const MutexLock lock(waiting.mutex);
  for (data::LoadedState* state : waiting.all) state->record_other_stream(*reader_.plan_->recipe);
}

}  // namespace ratoon
