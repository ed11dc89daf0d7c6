#include "agent/src/data/order/stream/stream_differences.h"

#include <optional>

#include "base/core/hex.h"

namespace ratoon::data {
namespace {

std::string describe_order(const StoredStream& stream) {
  std::string text = stream.order;
  if (stream.window_shards != 0)
    text += " with windows of " + std::to_string(stream.window_shards) + " shards";
  return text + ", epoch end " + stream.epoch_end;
}

std::string quoted(const std::string& name) {
  return "'" + name + "'";
}

std::string describe_source(const StoredStream& stream, std::size_t i) {
  if (i >= stream.samples.size()) return "none";
  const std::string samples = std::to_string(stream.samples[i]) + " samples";
  return stream.names.empty() ? samples : quoted(stream.names[i]) + " with " + samples;
}

// Returns the first difference between two lists of sources, described as specifically as possible.
std::optional<StreamDifference> sources_difference(const StoredStream& state, const StoredStream& program) {
  const auto say = [](std::string what, std::string was, std::string is) {
    return StreamDifference{DifferenceSubject::kSources, std::move(what), std::move(was), std::move(is)};
  };
  const bool are_named = !state.names.empty() && !program.names.empty();
  if (state.samples.size() == 1 && program.samples.size() == 1) {
    if (are_named && state.names != program.names)
      return say("the source", quoted(state.names[0]), quoted(program.names[0]));
    if (state.samples != program.samples)
      return say("the number of samples", std::to_string(state.samples[0]),
                 std::to_string(program.samples[0]));
  }
  if (state.samples.size() != program.samples.size())
    return say("the number of sources", std::to_string(state.samples.size()),
               std::to_string(program.samples.size()));
  for (std::size_t i = 0; i < state.samples.size(); ++i) {
    const bool is_other_name = are_named && state.names[i] != program.names[i];
    if (is_other_name || state.samples[i] != program.samples[i])
      return say("source " + std::to_string(i), describe_source(state, i), describe_source(program, i));
  }
  if (state.sources_digest == program.sources_digest) return std::nullopt;
  return say("the digest of names and shards", to_hex(state.sources_digest), to_hex(program.sources_digest));
}

std::optional<StreamDifference> weights_difference(const StoredStream& state, const StoredStream& program) {
  for (std::size_t i = 0; i < state.weights.size(); ++i) {
    if (state.weights[i] == program.weights[i]) continue;
    const auto share = [](std::uint32_t weight) { return std::to_string(weight) + "/65536"; };
    return StreamDifference{DifferenceSubject::kWeights, "the weight of source " + std::to_string(i),
                            share(state.weights[i]), share(program.weights[i])};
  }
  return std::nullopt;
}

}  // namespace

std::vector<StreamDifference> differences_between(const StoredStream& state, const StoredStream& program) {
  std::vector<StreamDifference> found;
  if (describe_order(state) != describe_order(program))
    found.push_back({DifferenceSubject::kOrder, "the order", describe_order(state), describe_order(program)});
  const auto sources = sources_difference(state, program);
  if (sources) found.push_back(*sources);
  if (state.seed != program.seed)
    found.push_back(
        {DifferenceSubject::kSeed, "the seed", std::to_string(state.seed), std::to_string(program.seed)});
  if (state.global_batch != program.global_batch)
    found.push_back({DifferenceSubject::kGlobalBatch, "the global batch", std::to_string(state.global_batch),
                     std::to_string(program.global_batch)});
  if (!sources) {  // other sources have other weights, so do not report them
    if (const auto weights = weights_difference(state, program)) found.push_back(*weights);
  }
  return found;
}

bool is_override_allowed(const StreamOverride& accepted, DifferenceSubject subject) {
  switch (subject) {
    case DifferenceSubject::kOrder:
      return accepted.order;
    case DifferenceSubject::kSeed:
      return accepted.seed;
    case DifferenceSubject::kSources:
      return accepted.sources;
    case DifferenceSubject::kGlobalBatch:
      return accepted.global_batch;
    case DifferenceSubject::kWeights:
      return accepted.weights;
  }
  return false;
}

}  // namespace ratoon::data
