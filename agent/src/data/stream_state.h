// The state of a Stream as text: what it was made of, and how far it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/stream.h>

namespace ratoon::data {

struct StreamState {
  StreamOptions options;
  std::uint64_t cursor = 0;
  std::uint64_t digest = 0;
};

// One line of JSON with sorted keys. What the slots are made of stands in a list of segments, each with the
// slot where it begins, so that a change of plan can be added to it one day without losing what was before.
[[nodiscard]] std::string encode_stream_state(const StreamState& state);

// Throws Failure if the text is no such state, or one that `expected` does not go on from.
[[nodiscard]] StreamState read_stream_state(std::string_view text, const StreamOptions& expected);

}  // namespace ratoon::data
