// ncclGroupStart() and ncclGroupEnd(): the calls of a thread between them take effect at the end.
#pragma once

#include <memory>

#include "tests/support/nccl_stand_in/communicator.h"

namespace ratoon::test::nccl_stand_in {

void start_group();
[[nodiscard]] ncclResult_t end_group();
// Starts a task now or, inside of a group, at its end.
[[nodiscard]] ncclResult_t ask(const std::shared_ptr<Communicator>& communicator, const Task& task);

}  // namespace ratoon::test::nccl_stand_in
