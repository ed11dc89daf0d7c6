// format_probe write FOLDER writes the run of tests/support/sample_run.h; format_probe show ATTEMPT STEP
// shows the content of one of its checkpoints, as JSON; bytes in hexadecimal digits
//
// An error is one line on standard output, with exit code 1.
#include <charconv>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/hex.h"
#include "tests/support/sample_run.h"

namespace {

using namespace ratoon;  // NOLINT
using nlohmann::json;

json shown(const test::WholeTensor& tensor) {
  return {{"dtype", checkpoint::safetensors_name(tensor.type)},
          {"shape", tensor.shape},
          {"bytes", to_hex(tensor.bytes)}};
}

json show(const checkpoint::CheckpointId& id) {
  json shared = json::object();
  for (const auto& sample : test::shared_samples(id)) shared[sample.tensor.name] = shown(sample.tensor);
  json own = json::array();
  for (std::uint32_t rank = 0; rank < test::kSampleRanks; ++rank) {
    own.push_back(json::object());
    for (const auto& tensor : test::own_samples(id, rank)) own.back()[tensor.name] = shown(tensor);
  }
  return {{"shared", shared}, {"own", own}};
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "write" && argc == 3) {
    const auto saved = test::save_sample_run(argv[2]);
    if (!saved) std::printf("%s\n", saved.error().message().c_str());
    return saved ? 0 : 1;
  }
  if (command == "show" && argc == 4) {
    std::printf("%s\n",
                show({.attempt = Attempt(number(argv[2])), .step = Step(number(argv[3]))}).dump().c_str());
    return 0;
  }
  std::printf("usage: format_probe write FOLDER | show ATTEMPT STEP\n");
  return 1;
}
