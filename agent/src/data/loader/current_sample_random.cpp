#include <string>

#include <ratoon/failure.h>
#include <ratoon/sample_random.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

SampleRandom*& thread_sample_random() {
  thread_local SampleRandom* random = nullptr;
  return random;
}

}  // namespace

SampleRandom& current_sample_random() {
  if (SampleRandom* const random = thread_sample_random(); random != nullptr) return *random;
  throw Failure(
      static_cast<int>(ExitCode::kConfiguration),
      "current_sample_random() was called on a thread that reads no sample: call it in "
      "Dataset::read(), in get() or in an augmentation, while a ratoon::DataLoader or "
      "ratoon::torch::batches() reads the sample; elsewhere, call sample_random() with the epoch and "
      "the sample");
}

std::uint64_t read_random_key(std::uint64_t seed, std::string_view purpose, std::string_view source) {
  return sample_random_key(seed, "read " + std::string(purpose), source);
}

SampleRandomScope::SampleRandomScope(SampleRandom& random) : previous_(thread_sample_random()) {
  thread_sample_random() = &random;
}

SampleRandomScope::~SampleRandomScope() {
  thread_sample_random() = previous_;
}

}  // namespace ratoon
