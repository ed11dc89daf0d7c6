// Copies within and between devices and the host.
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/copy.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "tests/support/accelerator/allocator.h"
#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/event.h"
#include "tests/support/accelerator/launch.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

void check_sizes_fit(const at::Tensor& from, const at::Tensor& to) {
  auto wanted = to.sizes();
  const auto given = from.sizes();
  bool fits = given.size() <= wanted.size();
  for (std::size_t i = 0; fits && i < given.size(); ++i) {
    const auto size = given[given.size() - 1 - i];
    fits = size == 1 || size == wanted[wanted.size() - 1 - i];
  }
  TORCH_CHECK(fits, "a copy from sizes ", given, " to sizes ", wanted,
              " was asked for: they must be equal, or ones");
}

// Two devices: the work of both before this copy ends first, and both continue after it.
void copy_between_devices(const at::Tensor& from, const at::Tensor& to) {
  Stream& source = queue_of(current_stream(from.device().index()));
  Stream& target = queue_of(current_stream(to.device().index()));
  make_wait(source, mark_end(target));
  launch(from.device().index(), [from = on_host(from), to = on_host(to)] { to.copy_(from); });
  make_wait(target, mark_end(source));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool is_non_blocking) {
  check_sizes_fit(from, to);
  if (FallbackScope::is_open()) {
    on_host(to).copy_(on_host(from));
    return to;
  }
  if (from.device().is_privateuseone() && to.device().is_privateuseone()) {
    if (from.device() != to.device()) {
      copy_between_devices(from, to);
    } else {
      launch(to.device().index(), [from = on_host(from), to = on_host(to)] { to.copy_(from); });
    }
    return to;
  }
  const auto device = (from.device().is_privateuseone() ? from : to).device().index();
  queue_host_copy(device, [from = on_host(from), to = on_host(to)] { to.copy_(from); });
  if (!is_non_blocking) {
    count_host_synchronization();
    drain(device, "copy between host and device");
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (!to.sizes().equals(from.sizes())) to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar read_item(const at::Tensor& tensor) {
  count_host_synchronization();
  drain(tensor.device().index(), "read one element");
  return at::_local_scalar_dense(on_host(tensor));
}

void record_stream(at::Tensor& tensor, c10::Stream stream) {
  note_use_on(tensor.storage().data_ptr(), queue_of(stream));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &read_item);
  m.impl("record_stream", &record_stream);
}

}  // namespace
}  // namespace ratoon::test::accelerator
