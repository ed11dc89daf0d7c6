// Collective: sums over all ranks of one attempt. They are begun one by one, in the same order on all ranks,
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

  // In place, after what this thread has queued for the piece. Where it cannot be begun, that is its error().
  virtual void begin_sum(const at::Tensor& piece) = 0;
  // What this thread queues on its current stream from now on comes after the sums that were begun.
  virtual void queue_wait() = 0;
  // Until the sums that were begun are complete, on the device too, or one has failed. Calls `look` each
  // millisecond, which may throw.
  virtual void wait(const std::function<void()>& look) = 0;
  // Of the first sum that failed, since a rank was lost or the library refused; none: nothing has, so far.
  [[nodiscard]] virtual std::exception_ptr error() = 0;

  // All sums are complete and no more come: takes leave of the other ranks. False: they do not answer in
  // time, and it is to be aborted.
  [[nodiscard]] virtual bool close() { return true; }
  // Begins to end what runs, and returns; what it would have written is no sum. It can do nothing afterwards.
  virtual void abort() = 0;
  // Nothing writes into the pieces any longer. Throws what the accelerator says.
  [[nodiscard]] virtual bool has_stopped() = 0;
  // Nor does anything else of it run: it may be destroyed without waiting.
  [[nodiscard]] virtual bool is_over() { return has_stopped(); }
};

}  // namespace ratoon
