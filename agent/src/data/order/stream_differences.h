// What a state and the options of the program disagree about.
#pragma once

#include <string>
#include <vector>

#include "agent/src/data/order/stream_state.h"

namespace ratoon::data {

enum class Subject { kOrder, kSeed, kSources, kGlobalBatch, kWeights };

struct Difference {
  Subject subject;
  std::string what;  // "the seed"
  std::string was;   // in the state
  std::string is;    // in the program
};

// One for each subject at most, in the order above.
[[nodiscard]] std::vector<Difference> differences_between(const StoredStream& state,
                                                          const StoredStream& program);

[[nodiscard]] bool is_accepted(const StreamOverride& accepted, Subject subject);

}  // namespace ratoon::data
