#include <chrono>
#include <exception>
#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include "agent/src/torch/collectives/nccl/nccl_collective.h"
#include "tests/gpu/probe/gpu.h"
#include "tests/gpu/probe/rows.h"
#include "tests/gpu/probe/stages.h"

namespace ratoon::gpu_probe {
namespace {

// The name of an error, and CUDA's number for it if it has one.
nlohmann::ordered_json facts_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::AcceleratorError& e) {
    return {{"type", "c10::AcceleratorError"},
            {"code", e.get_error_code()},
            {"text", e.what_without_backtrace()}};
  } catch (const c10::OutOfMemoryError& e) {
    return {{"type", "c10::OutOfMemoryError"},
            {"text", std::string(e.what_without_backtrace()).substr(0, 200)}};
  } catch (const c10::Error& e) {
    return {{"type", "c10::Error"}, {"text", e.what_without_backtrace()}};
  } catch (const std::exception& e) {
    return {{"type", "std::exception"}, {"text", e.what()}};
  }
}

std::unique_ptr<Collective> connect() {
  return make_nccl_collective(
      {.device = gpu(), .rank = 0, .world_size = 1, .broadcast_from_rank_0 = [](auto) {}, .look = [] {}});
}

}  // namespace

// An error that stays: each later call fails with it, also those that only clean up.
int device_assert() {
  Rows rows("device_assert");
  auto collective = connect();
  const auto numbers = at::ones({1 << 20}, at::TensorOptions(gpu()));
  collective->begin_sum(numbers);
  collective->wait([] {});
  const auto wrong = at::ones({4}, at::TensorOptions(at::kLong).device(gpu())).mul(1 << 30);
  static_cast<void>(at::index_select(numbers, 0, wrong));
  std::exception_ptr error;
  try {
    for (int i = 0; i < 3; ++i) {
      collective->begin_sum(numbers);
      collective->wait([] {});
    }
  } catch (...) {
    error = std::current_exception();
  }
  rows.expect(error != nullptr, "a collective on a device with an error that stays throws it");
  if (error) rows.add(facts_of(error));
  auto began = Clock::now();
  collective->abort();
  rows.add({{"abort_s", seconds_since(began)}});
  began = Clock::now();
  collective.reset();
  rows.add({{"destroy_s", seconds_since(began)}});
  std::exception_ptr again;
  try {
    synchronize();
  } catch (...) {
    again = std::current_exception();
  }
  rows.expect(again != nullptr, "the error stays");
  if (again) rows.add(facts_of(again));
  return rows.exit_code();
}

// A kernel that does not end for ten seconds: the host can leave at once, the device cannot.
int stuck_kernel() {
  Rows rows("stuck_kernel");
  constexpr double kPause = 10;
  auto collective = connect();
  const auto numbers = at::ones({1 << 20}, at::TensorOptions(gpu()));
  collective->begin_sum(numbers);
  collective->wait([] {});
  queue_pause(kPause);
  collective->begin_sum(numbers);
  collective->queue_wait();
  auto began = Clock::now();
  int looks = 0;
  try {
    collective->wait([&] {
      if (++looks == 100) throw std::runtime_error("the world changed");
    });
  } catch (const std::runtime_error&) {
  }
  const double waited = seconds_since(began);
  rows.add({{"left_after_s", waited}, {"looks", looks}});
  rows.expect(looks == 100 && waited < kPause / 2, "the host leaves a wait for a stuck kernel");
  began = Clock::now();
  collective->abort();
  const double aborted = seconds_since(began);
  rows.add({{"abort_s", aborted}, {"has_stopped_at_once", collective->has_stopped()}});
  began = Clock::now();
  synchronize();
  rows.add({{"device_ended_after_s", seconds_since(began)}});
  rows.expect(collective->has_stopped(), "when the device has ended, nothing of the collective runs");
  return rows.exit_code();
}

int out_of_memory() {
  Rows rows("out_of_memory");
  std::exception_ptr error;
  try {
    static_cast<void>(at::empty({1LL << 42}, at::TensorOptions(at::kByte).device(gpu())));
  } catch (...) {
    error = std::current_exception();
  }
  rows.expect(error != nullptr, "too much memory is an error");
  if (error) rows.add(facts_of(error));
  const auto small = at::ones({1 << 20}, at::TensorOptions(gpu()));
  rows.expect(small.sum().item<float>() == 1 << 20, "and the device computes on");
  return rows.exit_code();
}

}  // namespace ratoon::gpu_probe
