// SideStream: a stream of an accelerator beside the streams on which the program computes. SideStream's
// operations run concurrently with the operations of the computing streams. The class works for any
// accelerator that LibTorch supports, because it uses only LibTorch's generic streams and events.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

namespace ratoon {

class SideStream {
 public:
  explicit SideStream(c10::Device device);

  [[nodiscard]] c10::Device device() const { return stream_.device(); }
  // Returns the stream's handle for the accelerator's own libraries, such as a cudaStream_t.
  [[nodiscard]] void* handle() const { return stream_.native_handle(); }
  [[nodiscard]] const c10::Stream& stream() const { return stream_; }

  // Operations queued on this stream after this call run after all operations that this thread's current
  // stream has queued so far.
  void follow_current();
  // Marks the newest operation on this stream. let_current_wait() and is_past_mark() use the mark.
  void mark();
  void let_current_wait() const;  // the current stream waits for the marked operation
  // Returns whether the marked operation is done. After a permanent error of the accelerator, throws.
  [[nodiscard]] bool is_past_mark() const;
  [[nodiscard]] bool is_idle() const { return stream_.query(); }

 private:
  [[nodiscard]] c10::Stream current() const;

  c10::Stream stream_;
  c10::Event before_;
  c10::Event mark_;
};

}  // namespace ratoon
