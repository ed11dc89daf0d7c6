#include "agent/src/torch/samples_of.h"

namespace ratoon::torch {
namespace {

// The number of the first sample of each source, and one past the last.
std::vector<std::uint64_t> starts_of(const StreamReader& reader) {
  std::vector<std::uint64_t> starts{0};
  for (std::uint32_t source = 0; source < reader.sources(); ++source)
    starts.push_back(starts.back() + reader.source_samples(source));
  return starts;
}

}  // namespace

std::vector<std::size_t> samples_of(const StreamReader& reader, SlotRange range) {
  const std::vector<std::uint64_t> starts = starts_of(reader);
  std::vector<Slot> slots(range.size());
  reader.fill(range.first, slots);
  std::vector<std::size_t> samples;
  samples.reserve(slots.size());
  for (const Slot& slot : slots) samples.push_back(starts[slot.source] + slot.sample);
  return samples;
}

std::uint64_t samples_in(const StreamReader& reader) {
  return starts_of(reader).back();
}

}  // namespace ratoon::torch
