// The differences between a state and the options of the program.
#pragma once

#include <string>
#include <vector>

#include "agent/src/data/order/stream/stream_state.h"

namespace ratoon::data {

enum class Subject { kOrder, kSeed, kSources, kGlobalBatch, kWeights };

struct Difference {
  Subject subject;
  std::string what;  // "the seed"
  std::string was;   // in the state
  std::string is;    // in the program
};

// At most one for each subject, in the order of Subject.
[[nodiscard]] std::vector<Difference> differences_between(const StoredStream& state,
                                                          const StoredStream& program);

[[nodiscard]] bool is_accepted(const StreamOverride& accepted, Subject subject);

}  // namespace ratoon::data
