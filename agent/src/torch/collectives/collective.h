// torch/collectives/: How gradients are averaged over the ranks of an attempt.
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

  // The sum comes after the operations that this thread has queued for `piece`. If the sum cannot begin,
  // error() returns the reason.
  virtual void begin_sum(const at::Tensor& piece) = 0;
  // Operations that this thread queues on its current stream after this call run after all sums that were
  // begun before.
  virtual void queue_wait() = 0;
  // Waits until all begun sums are complete, also on the device, or until one sum has failed. Each
  // millisecond, wait() calls `look`, which may throw.
  virtual void wait(const std::function<void()>& look) = 0;
  // Returns the error of the first failed sum: a rank was lost, or the library refused. Returns null if no
  // sum has failed so far.
  [[nodiscard]] virtual std::exception_ptr error() = 0;

  // Call close() when all sums are complete and no others follow, to disconnect from the other ranks. Returns
  // false if the other ranks do not answer in time; in that case call abort().
  [[nodiscard]] virtual bool close() { return true; }
  // Starts to end running sums, and returns at once. The results of aborted sums are not valid. After
  // abort(), no sum may be begun.
  virtual void abort() = 0;
  // Returns whether all sums have stopped writing into the pieces, so that the pieces may be freed. Throws an
  // error of the accelerator.
  [[nodiscard]] virtual bool has_stopped() = 0;
  // Returns whether no work of the collective runs any longer, so that destroying it does not wait.
  [[nodiscard]] virtual bool is_over() { return has_stopped(); }
};

}  // namespace ratoon
