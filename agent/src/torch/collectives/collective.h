// torch/collectives/: How gradients are averaged over the ranks of an attempt.
//
// Collective: sums over all ranks of one attempt. Sums are begun one by one, in the same order on all ranks,
// and waited for together.
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

  // Sums in place, after the operations that this thread has queued for the piece. If the sum cannot begin,
  // error() returns the reason.
  virtual void begin_sum(const at::Tensor& piece) = 0;
  // Operations that this thread queues on its current stream after this call run after the sums that were
  // begun.
  virtual void queue_wait() = 0;
  // Waits until the sums that were begun are complete, on the device too, or one has failed. Calls `look`
  // each millisecond, which may throw.
  virtual void wait(const std::function<void()>& look) = 0;
  // The error of the first sum that failed, because a rank was lost or the library refused; null: no sum has
  // failed so far.
  [[nodiscard]] virtual std::exception_ptr error() = 0;

  // Call this when all sums are complete and no others follow: it disconnects from the other ranks. Returns
  // false if the other ranks do not answer in time; in that case call abort().
  [[nodiscard]] virtual bool close() { return true; }
  // Starts to end running sums, and returns at once. The results of ended sums are not valid. After this call
  // no function that begins sums may be called.
  virtual void abort() = 0;
  // Whether all sums have stopped writing into the pieces, so that their memory may be freed. Throws the
  // accelerator's error.
  [[nodiscard]] virtual bool has_stopped() = 0;
  // Whether no other work of the collective runs either: it can then be destroyed without waiting.
  [[nodiscard]] virtual bool is_over() { return has_stopped(); }
};

}  // namespace ratoon
