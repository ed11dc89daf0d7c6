#include "agent/src/session/state/start_snapshot.h"

#include <algorithm>
#include <utility>

#include "agent/src/session/shutdown/fail.h"

namespace ratoon::session {
namespace {

// Returns whether the tensor `name` is the state of a random number generator. The snapshot contains no
// random number generators, because each attempt seeds them anew by name and rank.
bool is_generator(const CollectedState& state, const std::string& name) {
  return state.seeded.contains(name) || name.find(kGeneratorPrefix) != std::string::npos;
}

}  // namespace

class StartSnapshot::Source final : public StateSource {
 public:
  explicit Source(const Kept& kept) : kept_(kept) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : kept_.tensors) names.push_back(name);
    return names;
  }
  bool is_own() const override { return true; }
  Result<std::optional<Form>> find(std::string_view name) override {
    const auto at = kept_.tensors.find(name);
    return at == kept_.tensors.end() ? std::optional<Form>() : std::optional(at->second.form);
  }
  Result<void> load(std::span<const checkpoint::TensorSpec> wanted,
                    std::span<const std::span<std::byte>> into) override {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& bytes = kept_.tensors.at(wanted[i].name).bytes;
      if (bytes.size() != into[i].size())
        return Error(ErrorKind::kInvalid,
                     "'" + wanted[i].name + "' is now another part of the whole tensor than before");
      std::ranges::copy(bytes, into[i].begin());
    }
    return {};
  }

 private:
  const Kept& kept_;
};

void StartSnapshot::begin(const TrackedObjects& tracked, const Assignment& assignment) {
  const CollectedState now = tracked.collect();
  if (!kept_) {
    kept_ = keep(now, assignment);
    return;
  }
  const std::string changed = find_changed(now);
  if (changed.empty()) return;
  const bool is_same_rank = kept_->rank == assignment.rank && kept_->world_size == assignment.world_size;
  const std::string sentence =
      "no checkpoint is saved yet, and tensor '" + changed + "' has changed since the run began, because " +
      (is_same_rank
           ? "the tensor outlives the training function: this process must be started anew; that is not "
             "needed if the function itself creates the objects that it tracks"
           : "the tensor outlives the training function or depends on the rank, which has changed: this "
             "process must be started anew; that is not needed for objects that the function "
             "creates alike on all ranks, nor for a generator that track() seeds");
  if (!kept_->has_bytes) {
    fail(ExitCode::kStartAgain, sentence + "; more than " + std::to_string(bytes_max_) +
                                    " bytes are not kept for a reset: save earlier (--save-every)");
  }
  if (!is_same_rank) fail(ExitCode::kStartAgain, sentence);
  Source source(*kept_);
  try {
    const auto restored = tracked.restore(source, "the state at the run's beginning", [](auto) { return 0; });
    if (restored) return;
  } catch (const Failure&) {
    // The program now tracks other objects than at the first attempt, which the code below reports as an
    // error.
  }
  fail(ExitCode::kStartAgain, sentence);
}

StartSnapshot::Kept StartSnapshot::keep(const CollectedState& state, const Assignment& assignment) const {
  Kept kept{.rank = assignment.rank, .world_size = assignment.world_size};
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
    const auto at = kept_->tensors.find(tensor.name);
    if (at == kept_->tensors.end()) return tensor.name;
    ++known;
    if (!is_generator(now, tensor.name) && at->second.digest != xxh3_128(tensor.bytes)) return tensor.name;
  }
  return known == kept_->tensors.size() ? "" : kept_->tensors.begin()->first;
}

}  // namespace ratoon::session
