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
  // The number of samples behind this rank's gradients, if ranks have unequal numbers: each rank is weighted
  // by its own number. Set `samples` on all ranks or on none. A rank without samples in this step also calls
  // average_gradients(), with 0.
  std::optional<std::uint64_t> samples{};
  // The last backward() of the step, which computes each gradient once. Averaging runs during backward().
  std::function<void()> backward{};
  // How many bytes are summed at once; the same value on all ranks. By default 25 MiB on an accelerator and 8
  // MiB on the CPU.
  std::optional<std::size_t> bucket_bytes{};
  // On an accelerator: whether gradients of a half-precision type are also summed in that type. Sums in half
  // precision halve the transferred bytes but have fewer digits. By default the sums have single precision.
  bool sum_in_half_precision = false;
  // On an accelerator: whether to return before the means are complete, so that the optimizer's kernels are
  // queued behind them. A save waits until the means are complete. If computing the means fails, the save and
  // the next average_gradients() report the error.
  bool return_early = false;
  // Whether to sum gradients of an accelerator on the CPU, which is slow. Set over_host if ranks share a
  // device, because NCCL refuses shared devices.
  bool over_host = false;
};

}  // namespace ratoon
