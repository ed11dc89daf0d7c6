// torch/collectives/: Averages gradients over the ranks of an attempt.
//
// Collective computes sums over all ranks of one attempt. All ranks begin sums one by one, in the same order,
// and then wait for all sums together.
//
//   for (const at::Tensor& piece : pieces) collective.begin_sum(piece);
//   collective.queue_wait();                             // the device's kernels come after the sums
//   collective.wait([&] { session.check(); });           // and so does this thread
//   if (const auto error = collective.error()) std::rethrow_exception(error);
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include <ATen/core/Tensor.h>

namespace ratoon {

class Collective {
 public:
  virtual ~Collective() = default;

  // Begins to sum `piece` over all ranks. On a device, the sum runs after the operations that this thread has
  // already queued there. If the sum cannot be begun, error() returns the reason.
  virtual void begin_sum(const at::Tensor& piece) = 0;
  // Makes the current stream of this thread wait: operations that are queued on it after this call run after
  // all sums that were begun before the call.
  virtual void queue_wait() = 0;
  // Waits until all sums that were begun are complete, also on the device, or until one of them has failed.
  // Each millisecond, wait() calls `look`, which may throw to end the wait.
  virtual void wait(const std::function<void()>& look) = 0;
  // Returns the error of the first sum that failed because a rank was lost or the library refused a call.
  // Returns null if no sum has failed so far.
  [[nodiscard]] virtual std::exception_ptr error() = 0;

  // Disconnects from the other ranks. Call close() when all sums are complete and no further sum follows.
  // Returns false if the other ranks do not disconnect in time; in that case call abort().
  [[nodiscard]] virtual bool close() { return true; }
  // Starts to abort the sums that still run, and returns at once. The results of aborted sums are not valid.
  // After abort(), do not call begin_sum().
  virtual void abort() = 0;
  // Returns true if no sum writes into the tensors any longer, so that their memory may be freed. Throws if
  // the accelerator reports an error.
  [[nodiscard]] virtual bool has_stopped() = 0;
  // Returns true if no work of the collective runs any longer, so that its destructor does not wait.
  [[nodiscard]] virtual bool is_over() { return has_stopped(); }
};

}  // namespace ratoon
