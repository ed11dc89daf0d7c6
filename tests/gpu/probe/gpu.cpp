#include "tests/gpu/probe/gpu.h"

#include <filesystem>
#include <iterator>
#include <stdexcept>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

namespace ratoon::gpu_probe {
namespace {

// Uses the libraries of CUDA that LibTorch has loaded, so that their headers are not needed.
template <class Function>
Function* function_named(const char* name) {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) throw std::runtime_error(std::string(name) + " is in no library that is loaded");
  return reinterpret_cast<Function*>(found);
}

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace

c10::Device gpu() {
  return {c10::kCUDA, 0};
}

void synchronize() {
  c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(0);
}

std::uint64_t free_device_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  if (function_named<int(std::size_t*, std::size_t*)>("cudaMemGetInfo")(&free, &all) != 0)
    throw std::runtime_error("cudaMemGetInfo failed");
  return free;
}

std::size_t threads_of_this_process() {
  return entries_of("/proc/self/task");
}

std::size_t descriptors_of_this_process() {
  return entries_of("/proc/self/fd");
}

void queue_pause(double seconds) {
  constexpr double kCyclesPerSecond = 1.9e9;  // about: the clock of an H100 or H200 at work
  function_named<void(std::int64_t)>("_ZN2at4cuda5sleepEl")(
      static_cast<std::int64_t>(seconds * kCyclesPerSecond));
}

}  // namespace ratoon::gpu_probe
