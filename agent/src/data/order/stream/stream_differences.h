// Finds the differences between a stream's saved state and the options of the program.
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

// Returns at most one difference for each Subject, in the order of the enumeration Subject.
[[nodiscard]] std::vector<Difference> differences_between(const StoredStream& state,
                                                          const StoredStream& program);

[[nodiscard]] bool is_accepted(const StreamOverride& accepted, Subject subject);

}  // namespace ratoon::data
