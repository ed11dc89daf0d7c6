#include <ratoon/failure.h>
#include <ratoon/session/device_memory.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "base/contract/exit_code.h"

namespace ratoon {

void TrackAdapter<DeviceMemory>::check(DeviceMemory& memory, const std::string& name) {
  const auto refuse = [&name](const char* why) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  "tracked '" + name + "' is a DeviceMemory " + why);
  };
  const DeviceMemoryFacts& facts = memory.facts_;
  const auto bytes = checkpoint::count_bytes(facts.type, facts.shape);
  if (!bytes) refuse("whose shape has more than 2^63 - 1 bytes: give the shape of the allocated memory");
  if (*bytes != 0 && facts.pointer == nullptr)
    refuse("without a pointer: allocate the memory before track()");
  if (!facts.copy_to_host || !facts.copy_from_host)
    refuse("without copy_to_host or copy_from_host: give it both functions");
}

void TrackAdapter<DeviceMemory>::save(DeviceMemory& memory, StateWriter& out) {
  const DeviceMemoryFacts& facts = memory.facts_;
  const std::uint64_t bytes = checkpoint::count_bytes(facts.type, facts.shape).value_or(0);
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  if (bytes != 0) facts.copy_to_host(copy->data(), facts.pointer, bytes);
  out.lies_at({.begin = facts.pointer, .bytes = bytes});
  TensorView view;
  view.type = facts.type;
  view.shape = facts.shape;
  view.bytes = *copy;
  out.tensor(std::move(view), copy);
}

void TrackAdapter<DeviceMemory>::load(DeviceMemory& memory, StateReader& in) {
  const DeviceMemoryFacts& facts = memory.facts_;
  const std::uint64_t bytes = checkpoint::count_bytes(facts.type, facts.shape).value_or(0);
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  WantedTensor wanted;
  wanted.type = facts.type;
  wanted.shape = facts.shape;
  in.tensor(wanted, *copy);
  in.at_end([&memory, copy] {
    if (!copy->empty()) memory.facts_.copy_from_host(memory.facts_.pointer, copy->data(), copy->size());
  });
}

}  // namespace ratoon
