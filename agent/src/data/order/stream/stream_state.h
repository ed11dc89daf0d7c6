// Converts the state of a Stream to text: its definition, every change of its plan, and its position.
// docs/reference/stream.md describes the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/stream.h>

#include "agent/src/data/order/stream/stream_plan.h"

namespace ratoon::data {

constexpr std::size_t kAcceptedDifferencesMax = 64;

struct StoredSegment {
  std::uint64_t previous_end = 0;
  std::uint64_t start = 0;
  std::uint64_t first_batch = 0;
  std::uint64_t global_batch = 0;
  std::optional<std::uint64_t> requested_start;  // nothing: default_requested_start()
  std::vector<std::uint32_t>
      weights;  // empty if they equal those of the previous segment or, in the first one, of the options
};

// StoredStream: the values in a saved state, before they are compared with the options of the program.
struct StoredStream {
  std::uint64_t cursor = 0;
  std::uint64_t batches = 0;
  std::uint64_t digest = 0;
  std::uint64_t first_known_slot = 0;
  std::vector<StoredSegment> segments;
  std::vector<AcceptedDifference> accepted_differences;
  // The options.
  std::string order;
  std::string epoch_end;
  std::uint64_t window_shards = 0;
  std::uint64_t seed = 0;
  std::uint64_t global_batch = 0;
  std::uint64_t sources_digest = 0;
  std::vector<std::string> names;  // empty if all names together would be too long
  std::vector<std::uint64_t> samples;
  std::vector<std::uint32_t> weights;
};

// Returns the state as one line of JSON with sorted keys.
[[nodiscard]] std::string encode_stream(const StoredStream& stream);
// Throws Failure if `text` is not the saved state of a stream.
[[nodiscard]] StoredStream decode_stream(std::string_view text);

// Returns a StoredStream in which only the members that the recipe determines are set.
[[nodiscard]] StoredStream store_recipe(const Recipe& recipe);
[[nodiscard]] std::vector<StoredSegment> store_segments(const Plan& plan);

// Restores the plan in a saved state, for a stream with this recipe. Throws Failure if parts of the state
// contradict each other.
[[nodiscard]] Plan restore_plan(const StoredStream& stored, std::shared_ptr<const Recipe> recipe);

}  // namespace ratoon::data
