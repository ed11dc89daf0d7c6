// The functions of nccl.h that make, query and end communicators.
#include <string>
#include <utility>

#include "tests/support/nccl_stand_in/group.h"
#include "tests/support/nccl_stand_in/handles.h"
#include "tests/support/nccl_stand_in/last_words.h"
#include "tests/support/nccl_stand_in/nccl_stand_in.h"
#include "tests/support/nccl_stand_in/settings.h"

namespace stand_in = ratoon::test::nccl_stand_in;

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  if (uniqueId == nullptr) return stand_in::refuse(ncclInvalidArgument, "the place for the id is NULL");
  const auto id = stand_in::open_world();
  if (!id) return stand_in::refuse(ncclSystemError, "the system gave no port on loopback");
  *uniqueId = stand_in::encode(*id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return ncclCommInitRankConfig(comm, nranks, commId, rank, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  const ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
  const auto id = stand_in::decode(commId);
  if (comm == nullptr) return stand_in::refuse(ncclInvalidArgument, "the place for the communicator is NULL");
  if (nranks < 1 || rank < 0 || rank >= nranks)
    return stand_in::refuse(ncclInvalidArgument,
                            "there is no rank " + std::to_string(rank) + " of " + std::to_string(nranks));
  if (!id) return stand_in::refuse(ncclInvalidArgument, "the id is none of ncclGetUniqueId()");
  if (config != nullptr && (config->magic != initial.magic || config->size != initial.size))
    return stand_in::refuse(ncclInvalidArgument, "the configuration was not made by NCCL_CONFIG_INITIALIZER");

  stand_in::CommunicatorPlan plan{
      .world = {.id = *id,
                .rank = static_cast<std::uint32_t>(rank),
                .size = static_cast<std::uint32_t>(nranks),
                .device = ratoon_test_current_device == nullptr ? 0 : ratoon_test_current_device()},
      .is_blocking = config == nullptr || config->blocking != 0};
  if (rank == 0) {
    auto listener = stand_in::take_listener(*id);
    if (!listener)
      return stand_in::refuse(ncclInvalidUsage, "rank 0's process did not make the id, or used it before");
    plan.listener = std::move(*listener);
  }
  const auto made = std::make_shared<stand_in::Communicator>(std::move(plan));
  *comm = stand_in::give_handle(made);
  return stand_in::ask(made, {.connects = true});
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto [result, communicator] = stand_in::find_ready(comm);
  return communicator == nullptr ? result : stand_in::ask(communicator, {.finalizes = true});
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  const auto [result, communicator] = stand_in::find(comm);
  if (communicator == nullptr) return result;
  if (!communicator->destroy())
    return stand_in::refuse(ncclInvalidUsage, "the communicator was aborted while it was destroyed");
  stand_in::drop_handle(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  const auto [result, communicator] = stand_in::find(comm);
  if (communicator == nullptr) return result;
  communicator->abort();
  stand_in::drop_handle(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  const auto [result, communicator] = stand_in::find(comm);
  if (communicator == nullptr) return result;
  if (asyncError == nullptr) return stand_in::refuse(ncclInvalidArgument, "the place for the error is NULL");
  *asyncError = communicator->async_error();
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  const auto [result, communicator] = stand_in::find_ready(comm);
  if (communicator != nullptr) *count = static_cast<int>(communicator->world().size);
  return result;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  const auto [result, communicator] = stand_in::find_ready(comm);
  if (communicator != nullptr) *rank = static_cast<int>(communicator->world().rank);
  return result;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  const auto [result, communicator] = stand_in::find_ready(comm);
  if (communicator != nullptr) *device = communicator->world().device;
  return result;
}
