// Wraps LibTorch's Gloo process group: creates a group, and ends its collectives.
#pragma once

#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace ratoon {

// Blocks until all ranks are connected, or throws after `connect_timeout`. Collectives have no timeout,
// because a slow rank may begin a collective much later than others. The loss of a rank is detected by its
// closed connection or by the session. Other ranks connect to this rank at `own_address`, because they cannot
// resolve the host name of a pod.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend> connect_with_gloo(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size, const std::string& own_address,
    std::chrono::milliseconds connect_timeout);

// Closes, within a moment, all connections of a group that connect_with_gloo() returned. Collectives of the
// group that still run fail because of this call, on this rank and on the other ranks. After
// abort_running_collectives(), the group cannot be used any longer.
void abort_running_collectives(c10d::Backend& group);

}  // namespace ratoon
