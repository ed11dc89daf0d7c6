// SideStream: a stream of an accelerator beside those that compute. What is queued on it goes on meanwhile.
// Of any accelerator that LibTorch knows: only its generic streams and events are used.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

namespace ratoon {

class SideStream {
 public:
  explicit SideStream(c10::Device device);

  [[nodiscard]] c10::Device device() const { return stream_.device(); }
  // As the accelerator's own libraries take it: a cudaStream_t, say.
  [[nodiscard]] void* handle() const { return stream_.native_handle(); }
  [[nodiscard]] const c10::Stream& stream() const { return stream_; }

  // What is queued here from now on comes after what the current stream of this thread has so far.
  void follow_current();
  // The newest that is queued here is what the next two ask for.
  void mark();
  void let_current_wait() const;  // the current stream, for what is marked
  // Throws what the accelerator says: of an error that stays, each call does.
  [[nodiscard]] bool is_past_mark() const;
  [[nodiscard]] bool is_idle() const { return stream_.query(); }

 private:
  [[nodiscard]] c10::Stream current() const;

  c10::Stream stream_;
  c10::Event before_;
  c10::Event mark_;
};

}  // namespace ratoon
