// Numerics: what the bits of a result depend on beside the program, its data and its seeds. Each checkpoint
// has them, a resume with others says so, and --deterministic pins them; its generators of random numbers
// begin with --seed. The library that computes attaches itself: LibTorch's part of Ratoon does
// (<ratoon/torch/track.h>). A program that computes with another one does it before train():
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

// Texts are of 64 bytes at most; an empty one is not known.
struct Numerics {
  std::string library{};         // and its version: "LibTorch 2.11.0"
  std::string device{};          // the kind of it: "cpu", "cuda"
  std::string cpu_capability{};  // the instructions that were chosen: "AVX2"
  std::uint32_t threads = 0;     // that share one operation; 0: not known
  bool is_deterministic = false;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

// All are called on the thread that runs the training function.
struct NumericsHook {
  std::function<void()> pin{};  // before that function is called first; throws a Failure where it cannot
  std::function<void(std::uint32_t count)> set_threads{};
  // Each time before that function is called, on all ranks alike; empty: the library draws no numbers.
  std::function<void(std::uint64_t seed)> seed{};
  std::function<Numerics()> now{};
};

// The last one counts. Before train().
void attach_numerics(NumericsHook hook);

}  // namespace ratoon
