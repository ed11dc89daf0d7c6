#include "agent/src/torch/collectives/nccl/side_stream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace ratoon {
namespace {

c10::Stream get_priority_stream(c10::Device device) {
  constexpr bool kIsUrgent = true;  // a sum delays all ranks, a kernel only this one
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, kIsUrgent);
}

}  // namespace

SideStream::SideStream(c10::Device device)
    : stream_(get_priority_stream(device)),
      current_stream_event_(device.type()),
      mark_event_(device.type()) {}

c10::Stream SideStream::current_stream() const {
  return c10::impl::VirtualGuardImpl(device().type()).getStream(device());
}

void SideStream::wait_for_current_stream() {
  current_stream_event_.record(current_stream());
  current_stream_event_.block(stream_);
}

void SideStream::mark() {
  mark_event_.record(stream_);
}

void SideStream::make_current_stream_wait() const {
  mark_event_.block(current_stream());
}

bool SideStream::is_marked_work_done() const {
  return mark_event_.query();
}

}  // namespace ratoon
