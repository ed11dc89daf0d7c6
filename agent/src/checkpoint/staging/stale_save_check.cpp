#include "agent/src/checkpoint/staging/stale_save_check.h"

namespace ratoon::checkpoint {

bool StaleSaveCheck::is_stale(Step step, const PackLayout& layout, std::span<const Hash128> hashes) {
  bool has_changing = false;
  bool has_changed_now = false;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const auto [at, is_new] =
        seen_tensors_.try_emplace(layout.tensors[i].name, SeenTensor{.hash = hashes[i]});
    SeenTensor& seen = at->second;
    has_changing = has_changing || seen.has_changed;
    if (!is_new && seen.hash != hashes[i]) seen = {.hash = hashes[i], .has_changed = has_changed_now = true};
  }
  const bool has_advanced = previous_step_ < step;
  previous_step_ = step;
  return has_advanced && has_changing && !has_changed_now;
}

}  // namespace ratoon::checkpoint
