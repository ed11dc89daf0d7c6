// SideStream: a stream of an accelerator. Operations on a SideStream run at the same time as the program's
// computations on other streams. SideStream works for any accelerator that LibTorch supports, because it uses
// only LibTorch's generic streams and events.
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
  void wait_for_current_stream();
  // Remembers the newest operation on this stream as the mark that make_current_stream_wait() and
  // is_marked_work_done() use.
  void mark();
  void make_current_stream_wait() const;  // the current stream waits for the marked operation
  // Returns true if the marked operation is complete. Throws if the accelerator has a permanent error.
  [[nodiscard]] bool is_marked_work_done() const;
  [[nodiscard]] bool is_idle() const { return stream_.query(); }

 private:
  [[nodiscard]] c10::Stream current_stream() const;

  c10::Stream stream_;
  c10::Event current_stream_event_;
  c10::Event mark_event_;
};

}  // namespace ratoon
