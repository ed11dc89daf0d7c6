#include <torch/serialize/archive.h>

#include <ratoon/failure.h>
#include <ratoon/torch/order_sampler.h>

#include "base/contract/exit_code.h"

namespace ratoon::torch::detail {
namespace {

// The name of the sampler's state in an archive, which may also contain other data of the program.
constexpr const char* kArchiveKey = "ratoon_sampler";

}  // namespace

void write_state(::torch::serialize::OutputArchive& archive, const std::string& state) {
  archive.write(kArchiveKey, c10::IValue(state));
}

std::string read_state(::torch::serialize::InputArchive& archive) {
  c10::IValue state;
  if (!archive.try_read(kArchiveKey, state) || !state.isString())
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  std::string("the archive holds no state of a sampler: it has no text named '") +
                      kArchiveKey + "', which torch::save(sampler, ...) writes");
  return state.toStringRef();
}

}  // namespace ratoon::torch::detail
