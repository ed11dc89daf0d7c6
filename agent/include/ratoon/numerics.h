// Numerics: the settings of the computing library on which the bits of a result depend, such as the number of
// threads. Each checkpoint contains the settings of the computing library. A run that resumes with other
// settings reports the difference. The flag --deterministic selects settings with reproducible results, and
// --seed seeds the library's random number generators. A hook gives Ratoon access to these settings. For
// LibTorch, <ratoon/torch/track.h> attaches the hook. A program that computes with another library attaches
// its own hook before train():
//
//   ratoon::attach_numerics(
//       {.pin = [] { mine::set_deterministic(true); },
//        .set_threads = [](std::uint32_t count) { mine::set_threads(count); },
//        .seed = [](std::uint64_t seed) { mine::seed(seed); },
//        .now = [] { return ratoon::Numerics{.library = "mine 1.2", .threads = mine::threads()}; }});
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ratoon {

// Each text of Numerics has at most 64 bytes; an empty text means that the value is not known.
struct Numerics {
  std::string library{};         // name and version: "LibTorch 2.11.0"
  std::string device{};          // the kind of device: "cpu", "cuda"
  std::string cpu_capability{};  // the selected instruction set: "AVX2"
  std::uint32_t threads = 0;     // threads that share one operation; 0: not known
  bool is_deterministic = false;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

// Ratoon calls the functions of a NumericsHook on the thread that runs the training function.
struct NumericsHook {
  // Makes the numeric library deterministic. Ratoon calls `pin` once, before the first call of the training
  // function. Throws a Failure if a setting cannot be made reproducible.
  std::function<void()> pin{};
  std::function<void(std::uint32_t count)> set_threads{};
  // Seeds the library's random number generators. Ratoon calls `seed` before each call of the training
  // function, with the same seed on all ranks. If the library draws no random numbers, `seed` is empty.
  std::function<void(std::uint64_t seed)> seed{};
  std::function<Numerics()> now{};
};

// Attaches the hook of the computing library: call attach_numerics() before train(). If attach_numerics() is
// called several times, the last hook is used.
void attach_numerics(NumericsHook hook);

}  // namespace ratoon
