#include "tests/support/nccl_stand_in/handles.h"

#include <list>
#include <mutex>
#include <utility>

#include "tests/support/nccl_stand_in/immortal.h"
#include "tests/support/nccl_stand_in/last_words.h"

namespace ratoon::test::nccl_stand_in {
namespace {

struct Handle {
  std::shared_ptr<Communicator> communicator;
};

struct Handles {
  std::mutex mutex;
  std::list<Handle> given;  // guarded by mutex; it only grows
};

Handle& of(ncclComm_t handle) {
  return *reinterpret_cast<Handle*>(handle);
}

}  // namespace

ncclComm_t give_handle(std::shared_ptr<Communicator> communicator) {
  auto& handles = immortal<Handles>();
  const std::scoped_lock lock(handles.mutex);
  return reinterpret_cast<ncclComm_t>(&handles.given.emplace_back(Handle{std::move(communicator)}));
}

Found find(ncclComm_t handle) {
  if (handle == nullptr) return {refuse(ncclInvalidArgument, "the communicator is NULL"), nullptr};
  auto& handles = immortal<Handles>();
  const std::scoped_lock lock(handles.mutex);
  if (of(handle).communicator == nullptr)
    return {refuse(ncclInvalidUsage, "the communicator was aborted or destroyed"), nullptr};
  return {ncclSuccess, of(handle).communicator};
}

Found find_ready(ncclComm_t handle) {
  Found found = find(handle);
  if (found.result != ncclSuccess) return found;
  found.result = found.communicator->check_ready();
  if (found.result != ncclSuccess) found.communicator = nullptr;
  return found;
}

void drop_handle(ncclComm_t handle) {
  std::shared_ptr<Communicator> dropped;  // ends after the lock
  auto& handles = immortal<Handles>();
  const std::scoped_lock lock(handles.mutex);
  dropped = std::exchange(of(handle).communicator, nullptr);
}

}  // namespace ratoon::test::nccl_stand_in
