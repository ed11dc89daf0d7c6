#include "agent/src/torch/data/samples_of.h"

#include <string>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::torch {
namespace {

// Returns, for each source, the number of its first sample among all samples. The last entry is the number of
// all samples.
std::vector<std::uint64_t> first_sample_of_sources(const StreamReader& reader) {
  std::vector<std::uint64_t> starts{0};
  for (std::uint32_t source = 0; source < reader.sources(); ++source)
    starts.push_back(starts.back() + reader.source_samples(source));
  return starts;
}

}  // namespace

std::vector<std::size_t> samples_of(const StreamReader& reader, SlotRange range) {
  std::vector<Slot> slots(range.size());
  reader.fill(range.first, slots);
  return samples_of(reader, slots);
}

std::vector<std::size_t> samples_of(const StreamReader& reader, std::span<const Slot> slots) {
  const std::vector<std::uint64_t> starts = first_sample_of_sources(reader);
  std::vector<std::size_t> samples;
  samples.reserve(slots.size());
  for (const Slot& slot : slots) samples.push_back(starts[slot.source] + slot.sample);
  return samples;
}

std::vector<std::size_t> sample_indices_of_one_source(std::span<const Slot> slots) {
  std::vector<std::size_t> samples;
  samples.reserve(slots.size());
  for (const Slot& slot : slots) {
    if (slot.source != 0) {
      throw Failure(static_cast<int>(ExitCode::kConfiguration),
                    "slot " + std::to_string(slot.number) + " is sample " + std::to_string(slot.sample) +
                        " of source " + std::to_string(slot.source) +
                        ", but index() without a reader supports one source only: pass the stream's reader, "
                        "index(slots, stream.reader()), if the data set has one source after the other");
    }
    samples.push_back(slot.sample);
  }
  return samples;
}

std::uint64_t count_samples(const StreamReader& reader) {
  return first_sample_of_sources(reader).back();
}

}  // namespace ratoon::torch
