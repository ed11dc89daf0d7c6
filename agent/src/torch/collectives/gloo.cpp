// Only this file includes the headers of Gloo. The headers may be of another version than the code of Gloo
// inside LibTorch. Therefore the compiler must not emit a class of Gloo for this file, which
// tests/torch/no_gloo_classes_test.py checks.
#include "agent/src/torch/collectives/gloo.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ratoon {
namespace {

// Gloo adds the timeout to the present time, in 64 bits of nanoseconds, which are enough for 292 years.
constexpr std::chrono::milliseconds kNoLimit = std::chrono::hours(24 * 365 * 100);

}  // namespace

c10::intrusive_ptr<c10d::Backend> connect_with_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                    int world_size, const std::string& own_address,
                                                    std::chrono::milliseconds connect_timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(connect_timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own_address));
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, std::move(options));
  group->setTimeout(kNoLimit);
  return group;
}

// Gloo has no function that ends running collectives. Therefore end_collectives() starts a receive with a
// short timeout: when that timeout is over, Gloo closes all connections of the group, and waiting operations
// fail. Unlike a collective, a receive needs no thread of the group; all these threads may be waiting.
void end_collectives(c10d::Backend& group) {
  if (group.getSize() == 1) return;
  const int peer = group.getRank() == 0 ? 1 : 0;
  constexpr int kTagOfNoMessage = 0x7261746f;
  std::vector<at::Tensor> nothing{at::empty({1}, at::TensorOptions(at::kByte))};
  try {
    group.recv(nothing, peer, kTagOfNoMessage)->wait(std::chrono::milliseconds(1));
  } catch (const std::exception&) {  // the timeout is expected; or the connection had failed before
  }
}

}  // namespace ratoon
