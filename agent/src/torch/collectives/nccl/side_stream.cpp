#include "agent/src/torch/collectives/nccl/side_stream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace ratoon {
namespace {

c10::Stream new_stream(c10::Device device) {
  constexpr bool kIsUrgent = true;  // a sum delays all ranks, a kernel only this one
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, kIsUrgent);
}

}  // namespace

SideStream::SideStream(c10::Device device)
    : stream_(new_stream(device)), before_(device.type()), mark_(device.type()) {}

c10::Stream SideStream::current() const {
  return c10::impl::VirtualGuardImpl(device().type()).getStream(device());
}

void SideStream::follow_current() {
  before_.record(current());
  before_.block(stream_);
}

void SideStream::mark() {
  mark_.record(stream_);
}

void SideStream::let_current_wait() const {
  mark_.block(current());
}

bool SideStream::is_past_mark() const {
  return mark_.query();
}

}  // namespace ratoon
