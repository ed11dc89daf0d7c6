// SideStream: a stream of an accelerator for work that runs beside the computations of the program.
// Operations on this stream run at the same time as operations on the streams of the program. The class works
// for any accelerator that LibTorch supports, because it uses only LibTorch's generic streams and events.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

namespace ratoon {

class SideStream {
 public:
  explicit SideStream(c10::Device device);

  [[nodiscard]] c10::Device device() const { return stream_.device(); }
  // Returns the handle that libraries of the accelerator use for this stream, such as a cudaStream_t.
  [[nodiscard]] void* handle() const { return stream_.native_handle(); }
  [[nodiscard]] const c10::Stream& stream() const { return stream_; }

  // Makes this stream wait: operations that are queued on it after this call run after all operations that
  // are queued so far on the current stream of this thread.
  void follow_current();
  // Remembers the newest operation on this stream as the mark that let_current_wait() and is_past_mark() use.
  void mark();
  void let_current_wait() const;  // the current stream waits for the marked operation
  // Returns true if the marked operation is complete. Throws if the accelerator has a permanent error.
  [[nodiscard]] bool is_past_mark() const;
  [[nodiscard]] bool is_idle() const { return stream_.query(); }

 private:
  [[nodiscard]] c10::Stream current() const;

  c10::Stream stream_;
  c10::Event before_;
  c10::Event mark_;
};

}  // namespace ratoon
