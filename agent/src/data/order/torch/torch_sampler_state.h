// Converts the states of DistributedSampler and RandomSampler to text and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/torch_order.h>

namespace ratoon::data {

struct RandomSamplerPosition {
  std::uint64_t epoch = 0;
  std::uint64_t progress = 0;
  TorchGenerator generator;  // at the beginning of the epoch
};

// A state is one line of JSON with sorted keys. Decoding throws Failure if the text is not a sampler's state,
// or if an option differs from the program's; the message has both values.
[[nodiscard]] std::string encode_distributed_state(const DistributedSamplerOptions& options,
                                                   ListPosition position);
[[nodiscard]] ListPosition read_distributed_state(std::string_view text,
                                                  const DistributedSamplerOptions& expected);

[[nodiscard]] std::string encode_random_state(const RandomSamplerOptions& options,
                                              const RandomSamplerPosition& position);
[[nodiscard]] RandomSamplerPosition read_random_state(std::string_view text,
                                                      const RandomSamplerOptions& expected);

}  // namespace ratoon::data
