// This is the only file that calls NCCL's collectives. Programs link this file with NCCL. Tests that have no
// accelerator link the same object file with a fake NCCL.
#include "agent/src/torch/collectives/nccl/nccl_communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <nccl.h>

namespace ratoon {
namespace {

static_assert(NCCL_UNIQUE_ID_BYTES == NcclCommunicator::kIdBytes);

std::string describe_nccl_error(ncclResult_t result, ncclComm_t comm) {
  std::string words = ncclGetErrorString(result);
  if (const char* last = ncclGetLastError(comm); last != nullptr && *last != '\0')
    words += std::string(" (") + last + ")";
  return words;
}

void check(ncclResult_t result, const char* what, ncclComm_t comm) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw NcclError(result, std::string("NCCL: ") + what + ": " + describe_nccl_error(result, comm));
}

ncclDataType_t nccl_data_type_of(NcclElementType numbers) {
  switch (numbers) {
    case NcclElementType::kDouble:
      return ncclFloat64;
    case NcclElementType::kHalf:
      return ncclFloat16;
    case NcclElementType::kBfloat16:
      return ncclBfloat16;
    case NcclElementType::kUint8:
      return ncclUint8;
    case NcclElementType::kFloat:
      break;
  }
  return ncclFloat32;
}

}  // namespace

bool NcclError::is_usage_error() const {
  return code == ncclInvalidArgument || code == ncclInvalidUsage;
}

NcclCommunicator::Id NcclCommunicator::make_id() {
  ncclUniqueId made{};
  check(ncclGetUniqueId(&made), "making an id", nullptr);
  Id id{};
  std::memcpy(id.data(), made.internal, id.size());
  return id;
}

NcclCommunicator::NcclCommunicator(const Id& id, std::uint32_t rank, std::uint32_t size) {
  ncclUniqueId given{};
  std::memcpy(given.internal, id.data(), id.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(ncclCommInitRankConfig(&comm_, static_cast<int>(size), given, static_cast<int>(rank), &config),
        "connecting", nullptr);
}

NcclCommunicator::~NcclCommunicator() {
  const MutexLock lock(mutex_);
  if (comm_ == nullptr) return;
  if (is_closing_)
    static_cast<void>(ncclCommDestroy(comm_));
  else
    static_cast<void>(ncclCommAbort(comm_));
}

void NcclCommunicator::check_open() const {
  if (comm_ == nullptr)
    throw NcclError(ncclInvalidUsage, "NCCL: the communicator was aborted: make a new one");
}

bool NcclCommunicator::is_ready() {
  const MutexLock lock(mutex_);
  check_open();
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm_, &state), "asking a communicator for its state", comm_);
  check(state, is_closing_ ? "closing" : "connecting or summing over all ranks", comm_);
  return state == ncclSuccess;
}

void NcclCommunicator::begin_sum(void* numbers, std::size_t count, NcclElementType type, void* stream) {
  const MutexLock lock(mutex_);
  check_open();
  check(ncclAllReduce(numbers, numbers, count, nccl_data_type_of(type), ncclSum, comm_,
                      static_cast<cudaStream_t>(stream)),
        "beginning a sum over all ranks", comm_);
}

void NcclCommunicator::abort() noexcept {
  const MutexLock lock(mutex_);
  if (comm_ != nullptr) static_cast<void>(ncclCommAbort(std::exchange(comm_, nullptr)));
}

void NcclCommunicator::begin_close() {
  const MutexLock lock(mutex_);
  check_open();
  is_closing_ = true;
  check(ncclCommFinalize(comm_), "closing", comm_);
}

}  // namespace ratoon
