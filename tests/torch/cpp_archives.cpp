// cpp_archives FOLDER
//
// Writes the files of programs with LibTorch, and cpp.json with the expected value of every tensor in them.
// The files that this program made with LibTorch 2.11.0 are in tests/unit/agent/checkpoint/interop/golden.
//
//   cpp_dictionary.pt            torch::pickle_save of a dictionary: every type that torch.load knows by name
//   cpp_views.pt                 the same of views, shared storages, containers and plain values
//   refused_cpp_new_types.pt     the same of types that came later, in storages that Python does not have
//   refused_cpp_tensor.pt        torch::save of a tensor, ... of a module, an optimizer, an OutputArchive
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/serialize.h>
#include <torch/types.h>

namespace {

using Named = std::vector<std::pair<std::string, torch::Tensor>>;
using Kinds = std::vector<std::pair<const char*, torch::ScalarType>>;

const Kinds kKinds = {{"uint8", torch::kUInt8},
                      {"int8", torch::kInt8},
                      {"int16", torch::kInt16},
                      {"int32", torch::kInt32},
                      {"int64", torch::kInt64},
                      {"float16", torch::kFloat16},
                      {"float32", torch::kFloat32},
                      {"float64", torch::kFloat64},
                      {"bool", torch::kBool},
                      {"bfloat16", torch::kBFloat16},
                      {"complex64", torch::kComplexFloat}};
const Kinds kNewKinds = {{"uint16", torch::kUInt16},
                         {"uint32", torch::kUInt32},
                         {"uint64", torch::kUInt64},
                         {"float8_e4m3fn", torch::kFloat8_e4m3fn},
                         {"float8_e5m2", torch::kFloat8_e5m2}};

// Every byte differs, and a bool is 0 or 1.
torch::Tensor filled(torch::ScalarType kind, const std::vector<std::int64_t>& shape) {
  torch::Tensor tensor = torch::empty(shape, kind);
  auto* const bytes = static_cast<std::uint8_t*>(tensor.mutable_data_ptr());
  for (std::size_t i = 0; i < tensor.nbytes(); ++i) {
    const auto byte = static_cast<std::uint8_t>(7 + 3 * i);
    bytes[i] = kind == torch::kBool ? byte % 2 : byte;
  }
  return tensor;
}

Named every(const Kinds& kinds) {
  Named named;
  for (const auto& [name, kind] : kinds) {
    named.emplace_back(name, filled(kind, {2, 3}));
    named.emplace_back(std::string(name) + ".zero_dim", filled(kind, {}));
    named.emplace_back(std::string(name) + ".empty", torch::empty({3, 0, 2}, kind));
  }
  return named;
}

Named views() {
  const torch::Tensor base = filled(torch::kFloat32, {4, 6});
  const torch::Tensor shared = filled(torch::kInt32, {10});
  return {{"transposed", base.t()},
          {"columns", base.slice(1, 2, 5)},
          {"every_other", base.slice(0, 0, 4, 2).slice(1, 0, 6, 3)},
          {"expanded", filled(torch::kFloat64, {3, 1}).expand({3, 4})},
          {"shared.all", shared},
          {"shared.tail", shared.slice(0, 7)},
          {"shared.again", shared},
          {"last", base[3][5]}};
}

std::string said(const std::string& name, const torch::Tensor& tensor) {
  const torch::Tensor whole = tensor.contiguous();
  std::string type, shape, hex;
  for (const Kinds* kinds : {&kKinds, &kNewKinds})
    for (const auto& [word, kind] : *kinds)
      if (kind == tensor.scalar_type()) type = word;
  for (const std::int64_t length : tensor.sizes())
    shape += (shape.empty() ? "" : ", ") + std::to_string(length);
  const auto* const bytes = static_cast<const std::uint8_t*>(whole.const_data_ptr());
  for (std::size_t i = 0; i < whole.nbytes(); ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  }
  return R"({"name": ")" + name + R"(", "type": ")" + type + R"(", "shape": [)" + shape + R"(], "hex": ")" +
         hex + "\"}";
}

std::string said(const Named& named) {
  std::string text;
  for (const auto& [name, tensor] : named) text += (text.empty() ? "" : ",\n") + said(name, tensor);
  return text;
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

c10::impl::GenericDict dictionary(const Named& named) {
  c10::impl::GenericDict values(c10::StringType::get(), c10::AnyType::get());
  for (const auto& [name, tensor] : named) values.insert(name, tensor);
  return values;
}

void pickle(const std::string& path, const c10::IValue& value) {
  const std::vector<char> bytes = torch::pickle_save(value);
  write(path, std::string(bytes.begin(), bytes.end()));
}

void write_archives(const std::string& folder) {
  torch::manual_seed(1);
  torch::save(filled(torch::kInt16, {3}), folder + "refused_cpp_tensor.pt");
  torch::nn::Sequential module(torch::nn::Linear(3, 2), torch::nn::BatchNorm1d(2));
  torch::save(module, folder + "refused_cpp_module.pt");
  torch::optim::AdamW optimizer(module->parameters());
  module->forward(torch::ones({4, 3})).sum().backward();
  optimizer.step();
  torch::save(optimizer, folder + "refused_cpp_optimizer.pt");
  torch::serialize::OutputArchive archive;
  for (const auto& [name, tensor] : every(kKinds)) {
    std::string key = name;  // a dot is for what is nested
    std::replace(key.begin(), key.end(), '.', '_');
    archive.write(key, tensor, /*is_buffer=*/true);
  }
  archive.save_to(folder + "refused_cpp_archive.pt");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  pickle(folder + "cpp_dictionary.pt", dictionary(every(kKinds)));
  c10::impl::GenericDict state = dictionary(views());
  state.insert("step", std::int64_t{3});
  state.insert("rate", 0.5);
  state.insert("done", false);
  state.insert("name", std::string("gr\u00fcn"));
  state.insert("list", c10::impl::GenericList(c10::AnyType::get()));
  pickle(folder + "cpp_views.pt", state);
  pickle(folder + "refused_cpp_new_types.pt", dictionary(every(kNewKinds)));
  write_archives(folder);
  write(folder + "cpp.json",
        "{\"cpp_dictionary\": [\n" + said(every(kKinds)) + "],\n\"cpp_views\": [\n" + said(views()) + R"(,
{"name": "step", "value": 3},
{"name": "rate", "value": "0.5"},
{"name": "done", "value": false},
{"name": "name", "value": "gr\u00fcn"}]}
)");
  return 0;
}
