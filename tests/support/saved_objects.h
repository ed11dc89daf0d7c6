// Tracked objects in checkpoints on a real disk, without a Session around them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <ratoon/session.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/session/state/seed_of.h"
#include "agent/src/session/state/tracked_objects.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::test {

template <class T>
void track(session::TrackedObjects& objects, const std::string& name, T& object) {
  objects.add(
      name, [&object](StateWriter& out) { TrackAdapter<T>::save(object, out); },
      [&object](StateReader& in) { TrackAdapter<T>::load(object, in); });
}

// Each save is a step of attempt 1.
class SavedObjects {
 public:
  using Point = ResumePoint;

  Point save(const session::TrackedObjects& objects) {
    const checkpoint::CheckpointId id{.attempt = Attempt(1), .step = Step(++step_)};
    const session::CollectedState state = objects.collect();
    if (auto written = store_.write_pack(id, Rank(0), state.tensors); !written) throw written.error();
    const InventoryEntry entry = store_.try_commit(id, 1).value().value();
    return {.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }
  void load(const Point& point, const session::TrackedObjects& objects, std::uint32_t rank = 0) const {
    auto reader = store_.read(point, Rank(rank)).value();
    const auto seed = [rank](std::string_view name) { return seed_of(rank, name); };
    if (auto restored = objects.restore(reader, "the checkpoint", seed); !restored) throw restored.error();
  }
  template <class T>
  Point save(const std::string& name, T& object) {
    session::TrackedObjects objects;
    track(objects, name, object);
    return save(objects);
  }
  template <class T>
  void load(const Point& point, const std::string& name, T& object) const {
    session::TrackedObjects objects;
    track(objects, name, object);
    load(point, objects);
  }
  // The seed that load() gives to generators on a rank that is new to the world.
  static std::uint64_t seed_of(std::uint32_t rank, std::string_view name) {
    return session::seed_of(0, Step(1), Rank(rank), name);
  }
  // The whole content of the file.
  checkpoint::LoadedTensors content(const Point& point) const { return store_.load(point, Rank(0)).value(); }

 private:
  TemporaryFolder folder_;
  checkpoint::RunStore store_ = checkpoint::RunStore::open(folder_ / "run").value();
  std::uint64_t step_ = 0;
};

}  // namespace ratoon::test
