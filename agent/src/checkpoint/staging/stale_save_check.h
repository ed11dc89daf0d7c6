// Detects saves that no longer change. A program that hands out a stale copy of its weights saves the
// same bytes again and again while it trains. A checkpoint with stale weights is complete but wrong, and no
// error appears until a run resumes from it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/pack/header/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

// Compares the saves of one attempt.
class StaleSaveCheck {
 public:
  // Whether steps were made since the previous save but no tensor has changed, although some tensors changed
  // in earlier saves.
  [[nodiscard]] bool is_stale(Step step, const PackLayout& layout, std::span<const Hash128> hashes);

  // Call forget() when another attempt begins: the count of steps starts anew.
  void forget() { seen_.clear(); }

 private:
  struct Seen {
    Hash128 hash;
    bool has_changed = false;
  };
  std::map<std::string, Seen> seen_;
  Step step_{0};
};

}  // namespace ratoon::checkpoint
