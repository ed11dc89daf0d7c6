#include "agent/src/session/state/start_snapshot.h"

#include <algorithm>
#include <utility>

#include "agent/src/session/shutdown/fail.h"

namespace ratoon::session {
namespace {

// Returns whether the tensor `name` is the state of a random number generator. The snapshot contains no
// random number generators, because each attempt seeds them anew by name and rank.
bool is_generator(const CollectedState& state, const std::string& name) {
  return state.seeded_tensors.contains(name) || name.find(kGeneratorPrefix) != std::string::npos;
}

}  // namespace

class StartSnapshot::Source final : public StateSource {
 public:
  explicit Source(const SnapshotContents& kept) : snapshot_(kept) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : snapshot_.tensors) names.push_back(name);
    return names;
  }
  bool is_own() const override { return true; }
  Result<std::optional<Form>> find(std::string_view name) override {
    const auto at = snapshot_.tensors.find(name);
    return at == snapshot_.tensors.end() ? std::optional<Form>() : std::optional(at->second.form);
  }
  Result<void> load(std::span<const checkpoint::TensorSpec> wanted,
                    std::span<const std::span<std::byte>> into) override {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& bytes = snapshot_.tensors.at(wanted[i].name).bytes;
      if (bytes.size() != into[i].size())
        return Error(ErrorKind::kInvalid,
                     "'" + wanted[i].name + "' is now another part of the whole tensor than before");
      std::ranges::copy(bytes, into[i].begin());
    }
    return {};
  }

 private:
  const SnapshotContents& snapshot_;
};

void StartSnapshot::begin(const TrackedObjects& tracked, const Assignment& assignment) {
  const CollectedState now = tracked.collect();
  if (!snapshot_) {
    snapshot_ = make_snapshot(now, assignment);
    return;
  }
  const std::string changed = find_changed(now);
  if (changed.empty()) return;
  const bool is_same_rank =
      snapshot_->rank == assignment.rank && snapshot_->world_size == assignment.world_size;
  const std::string sentence =
      "no checkpoint is saved yet, and tensor '" + changed + "' has changed since the run began, because " +
      (is_same_rank
           ? "the tensor outlives the training function: a new process must start; to avoid this, let the "
             "function itself create the objects that it tracks"
           : "the tensor outlives the training function or depends on the rank, which has changed: a new "
             "process must start; to avoid this, let the function create objects alike on all "
             "ranks, and let track() seed generators");
  if (!snapshot_->has_bytes) {
    fail(ExitCode::kStartAgain, sentence + "; the first state is not kept for a reset if it has more than " +
                                    std::to_string(bytes_max_) + " bytes: save earlier (--save-every)");
  }
  if (!is_same_rank) fail(ExitCode::kStartAgain, sentence);
  Source source(*snapshot_);
  try {
    const auto restored = tracked.restore(source, "the state at the run's beginning", [](auto) { return 0; });
    if (restored) return;
  } catch (const Failure&) {
    // restore() throws if the program now tracks other objects than at the first attempt. fail() below ends
    // the process in this case too.
  }
  fail(ExitCode::kStartAgain, sentence);
}

StartSnapshot::SnapshotContents StartSnapshot::make_snapshot(const CollectedState& state,
                                                             const Assignment& assignment) const {
  SnapshotContents kept{.rank = assignment.rank, .world_size = assignment.world_size};
  std::uint64_t bytes = 0;
  for (const TensorView& tensor : state.tensors) bytes += tensor.bytes.size();
  kept.has_bytes = bytes <= bytes_max_;
  for (const TensorView& tensor : state.tensors) {
    const TensorShape& shape = tensor.box ? tensor.box->whole_shape : tensor.shape;
    Tensor one{.form = {.type = tensor.type, .shape = shape}, .digest = xxh3_128(tensor.bytes)};
    if (kept.has_bytes) one.bytes.assign(tensor.bytes.begin(), tensor.bytes.end());
    kept.tensors.emplace(tensor.name, std::move(one));
  }
  return kept;
}

std::string StartSnapshot::find_changed(const CollectedState& now) const {
  std::size_t known = 0;
  for (const TensorView& tensor : now.tensors) {
    const auto at = snapshot_->tensors.find(tensor.name);
    if (at == snapshot_->tensors.end()) return tensor.name;
    ++known;
    if (!is_generator(now, tensor.name) && at->second.digest != xxh3_128(tensor.bytes)) return tensor.name;
  }
  return known == snapshot_->tensors.size() ? "" : snapshot_->tensors.begin()->first;
}

}  // namespace ratoon::session
