// A checkpoint can be whole and still be wrong: a program that hands out a stale copy of its weights saves
// the same bytes again and again while it trains on. Nothing of that fails, until somebody resumes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/pack/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

// What the saves of one attempt have shown so far.
class Freshness {
 public:
  // Whether nothing has changed since the save before although steps were made: all tensors that used to
  // change, and there are some, have the same bytes again.
  [[nodiscard]] bool is_stale(Step step, const PackLayout& layout, std::span<const Hash128> hashes);

  // Another attempt begins: steps count anew.
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
