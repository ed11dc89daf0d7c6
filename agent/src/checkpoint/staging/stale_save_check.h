// Detects that the saved bytes no longer change although training continues. A program that by mistake saves
// a copy of its weights and not the weights themselves saves the same bytes again and again while it trains.
// A checkpoint with stale weights is complete but wrong, and no error appears until a run resumes from it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/pack/header/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

// The check compares only saves of one attempt with each other.
class StaleSaveCheck {
 public:
  // Returns true if no tensor has changed since the previous save, although training has made steps since
  // then and some tensors did change between earlier saves.
  [[nodiscard]] bool is_stale(Step step, const PackLayout& layout, std::span<const Hash128> hashes);

  // Call forget() when another attempt begins, because its step numbers may begin at an earlier step.
  void forget() { seen_tensors_.clear(); }

 private:
  struct SeenTensor {
    Hash128 hash;
    bool has_changed = false;
  };
  std::map<std::string, SeenTensor> seen_tensors_;
  Step previous_step_{0};
};

}  // namespace ratoon::checkpoint
