// Finds the differences between a stream's saved state and the options of the program.
#pragma once

#include <string>
#include <vector>

#include "agent/src/data/order/stream/stream_state.h"

namespace ratoon::data {

enum class DifferenceSubject { kOrder, kSeed, kSources, kGlobalBatch, kWeights };

struct StreamDifference {
  DifferenceSubject subject;
  std::string setting_name;   // "the seed"
  std::string saved_value;    // in the state
  std::string program_value;  // in the program
};

// Returns at most one difference for each DifferenceSubject, in the order of the enumeration
// DifferenceSubject.
[[nodiscard]] std::vector<StreamDifference> differences_between(const StoredStream& state,
                                                                const StoredStream& program);

[[nodiscard]] bool is_override_allowed(const StreamOverride& accepted, DifferenceSubject subject);

}  // namespace ratoon::data
