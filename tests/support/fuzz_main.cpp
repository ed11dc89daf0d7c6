// libFuzzer's entry into one of the targets: FUZZ_TARGET names it.
#include <cstddef>
#include <cstdint>

#include "tests/support/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratoon::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
