// Gloo behind LibTorch's process group, as far as we use it: making one, and ending what runs on it.
#pragma once

#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace ratoon {

// Blocks until all ranks are connected, or throws after `connect_timeout`. Collectives have no limit: a rank
// may come to one as late as it likes, and that a rank is lost is known from its connection, or from the
// session. `own_address` is where the other ranks reach this one: a pod's host name resolves nowhere.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend> connect_with_gloo(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size, const std::string& own_address,
    std::chrono::milliseconds connect_timeout);

// Closes the connections of a group that connect_with_gloo() made, in a moment. Collectives that run on it
// fail, here and on the other ranks; it can do nothing afterwards.
void end_collectives(c10d::Backend& group);

}  // namespace ratoon
