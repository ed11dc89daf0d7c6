// Only this file includes the headers of Gloo. The version of the headers may differ from that of the Gloo
// code inside LibTorch. The compiler must emit no class of Gloo for gloo.cpp, because an emitted class could
// differ from LibTorch's class. tests/torch/no_gloo_classes_test.py checks this rule.
#include "agent/src/torch/collectives/gloo.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ratoon {
namespace {

// Gloo adds the timeout to the present time, in 64-bit nanoseconds, which overflow after 292 years.
constexpr std::chrono::milliseconds kNoTimeout = std::chrono::hours(24 * 365 * 100);

}  // namespace

c10::intrusive_ptr<c10d::Backend> connect_with_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                    int world_size, const std::string& own_address,
                                                    std::chrono::milliseconds connect_timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(connect_timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own_address));
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, std::move(options));
  group->setTimeout(kNoTimeout);
  return group;
}

// Gloo has no function that ends running collectives. abort_running_collectives() starts a receive with a
// short timeout. When the receive times out, Gloo closes all connections of the group, so waiting operations
// fail. Unlike a collective, a receive needs no thread of the group; all threads of the group may be waiting.
// The receive is from any rank: a receive from one rank whose connection is closed already, for example
// because the rank was lost, fails at once and closes nothing.
void abort_running_collectives(c10d::Backend& group) {
  if (group.getSize() == 1) return;
  constexpr int kTagOfNoMessage = 0x7261746f;
  std::vector<at::Tensor> nothing{at::empty({1}, at::TensorOptions(at::kByte))};
  try {
    group.recvAnysource(nothing, kTagOfNoMessage)->wait(std::chrono::milliseconds(1));
  } catch (const std::exception&) {  // the timeout is expected; or the connection had failed before
  }
}

}  // namespace ratoon
