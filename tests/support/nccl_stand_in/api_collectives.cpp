// The functions of nccl.h that enqueue collectives, or describe them.
#include <cstring>
#include <string>

#include "tests/support/nccl_stand_in/group.h"
#include "tests/support/nccl_stand_in/handles.h"
#include "tests/support/nccl_stand_in/last_words.h"

namespace stand_in = ratoon::test::nccl_stand_in;

namespace ratoon::test::nccl_stand_in {
namespace {

ncclResult_t ask_for_work(const Found& found, const Work& work, cudaStream_t stream) {
  if (found.communicator == nullptr) return found.result;
  if (size_of(work.type) == 0)
    return refuse(ncclInvalidArgument, "the stand-in knows no numbers of type " + std::to_string(work.type));
  if (work.root >= found.communicator->world().size)
    return refuse(ncclInvalidArgument, "there is no rank " + std::to_string(work.root));
  if (work.count > 0 && (work.from == nullptr || work.into == nullptr))
    return refuse(ncclInvalidArgument, "a buffer is NULL");
  if (stream == nullptr) return refuse(ncclInvalidArgument, "the stand-in enqueues nothing on stream 0");
  if (work.count == 0) return ncclSuccess;
  return ask(found.communicator, {.work = work, .stream = stream});
}

}  // namespace
}  // namespace ratoon::test::nccl_stand_in

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const stand_in::Found found = stand_in::find_ready(comm);
  stand_in::Work work{.kind = stand_in::Kind::kAllReduce,
                      .from = sendbuff,
                      .into = recvbuff,
                      .count = count,
                      .type = datatype,
                      .op = op};
  if (found.communicator != nullptr && op != ncclSum && op != ncclMin && op != ncclMax) {
    work.factor = found.communicator->factor_of(op, datatype);
    if (!work.factor)
      return stand_in::refuse(
          ncclInvalidArgument,
          "the stand-in knows sum, min, max and the operators of this communicator and type; "
          "it was asked for operator " +
              std::to_string(op));
    work.op = ncclSum;
  }
  return stand_in::ask_for_work(found, work, stream);
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  const stand_in::Found found = stand_in::find_ready(comm);
  const bool is_root =
      found.communicator != nullptr && found.communicator->world().rank == static_cast<std::uint32_t>(root);
  return stand_in::ask_for_work(found,
                                {.kind = stand_in::Kind::kBroadcast,
                                 .from = is_root ? sendbuff : recvbuff,  // other ranks may give none
                                 .into = recvbuff,
                                 .count = count,
                                 .type = datatype,
                                 .root = static_cast<std::uint32_t>(root)},
                                stream);
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return stand_in::ask_for_work(stand_in::find_ready(comm),
                                {.kind = stand_in::Kind::kAllGather,
                                 .from = sendbuff,
                                 .into = recvbuff,
                                 .count = sendcount,
                                 .type = datatype},
                                stream);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  const stand_in::Found found = stand_in::find_ready(comm);
  if (found.communicator == nullptr) return found.result;
  const std::size_t size = stand_in::size_of(datatype);
  if (op == nullptr || scalar == nullptr || size == 0)
    return stand_in::refuse(ncclInvalidArgument, "the operator, its factor or its type is missing");
  stand_in::Factor factor;
  if (residence == ncclScalarDevice)
    factor.on_device = scalar;
  else
    std::memcpy(factor.value.data(), scalar, size);
  *op = found.communicator->keep_factor(datatype, factor);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  const stand_in::Found found = stand_in::find(comm);
  if (found.communicator == nullptr) return found.result;
  if (found.communicator->drop_factor(op)) return ncclSuccess;
  return stand_in::refuse(ncclInvalidArgument, "the communicator has no operator " + std::to_string(op));
}

ncclResult_t ncclGroupStart() {
  stand_in::start_group();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return stand_in::end_group();
}
