// The objects behind ncclComm_t. A handle is never given twice, so that a use after an abort is detected.
#pragma once

#include <cstddef>
#include <memory>

#include "tests/support/nccl_stand_in/communicator.h"

namespace ratoon::test::nccl_stand_in {

struct Found {
  ncclResult_t result = ncclSuccess;
  std::shared_ptr<Communicator> communicator;  // null unless the result is ncclSuccess
};

[[nodiscard]] ncclComm_t give_handle(std::shared_ptr<Communicator> communicator);
[[nodiscard]] Found find(ncclComm_t handle);
// Returns the same, for a communicator that is ready for another call.
[[nodiscard]] Found find_ready(ncclComm_t handle);
// Destroyed and aborted communicators have no handle.
void drop_handle(ncclComm_t handle);

}  // namespace ratoon::test::nccl_stand_in
