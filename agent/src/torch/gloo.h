// Gloo behind LibTorch's process group, as far as we use it: making one.
#pragma once

#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace ratoon {

// Blocks until all ranks are connected, or throws after the time-out, which holds for every collective too.
// `own_address` is where the other ranks reach this one: a pod's host name resolves nowhere.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend> connect_with_gloo(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size, const std::string& own_address,
    std::chrono::milliseconds timeout);

}  // namespace ratoon
