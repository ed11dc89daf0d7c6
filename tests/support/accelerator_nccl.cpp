// Joins the test accelerator to the stand-in for NCCL: a program that links both, and the files that call
// NCCL, averages over NCCL on the accelerator, as it would on GPUs.
#include "agent/src/torch/collectives/nccl/nccl_collective.h"
#include "tests/support/accelerator/streams.h"
#include "tests/support/nccl_stand_in/nccl_stand_in.h"

namespace accelerator = ratoon::test::accelerator;

extern "C" void ratoon_test_stream_enqueue(void* stream, void (*work)(void*), void* context) {
  static_cast<accelerator::Stream*>(stream)->enqueue([work, context] { work(context); });
}

extern "C" int ratoon_test_current_device() {
  return accelerator::current_device();
}

namespace {

[[maybe_unused]] const bool is_registered =
    ratoon::register_device_collective(c10::kPrivateUse1, ratoon::make_nccl_collective);

}  // namespace
