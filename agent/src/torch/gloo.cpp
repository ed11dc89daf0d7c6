// The only file that includes Gloo. The headers may be of another version than the code inside LibTorch, so
// nothing here may make the compiler emit a class of Gloo: tests/torch/no_gloo_classes_test.py looks.
#include "agent/src/torch/gloo.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ratoon {

c10::intrusive_ptr<c10d::Backend> connect_with_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                    int world_size, const std::string& own_address,
                                                    std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own_address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, std::move(options));
}

}  // namespace ratoon
