#include <mutex>
#include <set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <ratoon/failure.h>
#include <ratoon/torch/track.h>

#include "agent/src/torch/tracking/default_generators.h"
#include "agent/src/torch/tracking/stored_tensor.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

at::Tensor state_of(at::Generator generator) {
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

}  // namespace

std::vector<NamedGenerator> default_generators(const std::vector<at::Device>& devices) {
  std::vector<NamedGenerator> found{{"generator:cpu", at::detail::getDefaultCPUGenerator()}};
  std::set<at::DeviceIndex> gpus;
  for (const at::Device& device : devices)
    if (device.is_cuda()) gpus.insert(device.index());
  std::size_t count = 0;
  for (const at::DeviceIndex gpu : gpus)
    found.push_back({"generator:cuda:" + std::to_string(count++),
                     at::globalContext().defaultGenerator(at::Device(at::kCUDA, gpu))});
  return found;
}

void check_generator(const at::Generator& generator, const std::string& name) {
  if (generator.defined()) return;
  throw Failure(
      static_cast<int>(ExitCode::kConfiguration),
      "tracked '" + name +
          "' is an undefined generator: make it first, as at::make_generator<at::CPUGeneratorImpl>() "
          "does");
}

void seed_generator(at::Generator generator, std::uint64_t seed) {
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(seed);
}

void save_generator(const at::Generator& generator, StateWriter& out, const std::string& name) {
  write_tensor(out, name, state_of(generator));
}

void load_generator(const at::Generator& generator, StateReader& in, const std::string& name) {
  if (const auto seed = in.new_seed(name)) {
    in.after_all([generator, seed = *seed] { seed_generator(generator, seed); });
    return;
  }
  const at::Tensor state = state_of(generator);
  request_tensor(in, name, state);
  in.after_all([generator = generator, state]() mutable {
    const std::scoped_lock lock(generator.mutex());
    generator.set_state(state);
  });
}

}  // namespace ratoon
