// Averaging: the options of Session::average_gradients().
//
//   session.average_gradients(*net, {.backward = [&] { loss.backward(); }});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace ratoon {

// Options of Session::average_gradients(), which computes the mean.
struct Averaging {
  // The number of samples of this rank in this step, as the weight of its gradients. Set `samples` if the
  // ranks have unequal numbers of samples. Set `samples` on all ranks or on no rank. A rank without samples
  // in this step also calls average_gradients(), with `samples` = 0.
  std::optional<std::uint64_t> samples{};
  // A function that makes the step's last call of backward(), and only this call. average_gradients() calls
  // this function and averages gradients while the function runs.
  std::function<void()> backward{};
  // How many bytes of gradients are summed in one collective. Set the same value on all ranks. The default of
  // bucket_bytes is 25 MiB on an accelerator and 8 MiB on the CPU.
  std::optional<std::size_t> bucket_bytes{};
  // On an accelerator: whether gradients of a half-precision type are also summed in that type. Sums in half
  // precision transfer half as many bytes as sums in single precision, but are less exact. By default the
  // sums have single precision.
  bool sum_in_half_precision = false;
  // On an accelerator: whether to return before the means are complete, so that the optimizer can already
  // queue its kernels. A save waits until the means are complete. If the computation of the means fails, the
  // next save or average_gradients() throws the error.
  bool return_early = false;
  // Whether to sum gradients of an accelerator on the CPU, which is slow. Set over_host if ranks share a
  // device, because NCCL refuses shared devices.
  bool over_host = false;
};

}  // namespace ratoon
