// read_archive FILE
//
// LibTorch's view of a .pt file of named tensors, as a JSON text: {"name": {"dtype": "I64", "shape": [1],
// "hex": "..."}}, in the words of safetensors.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <torch/serialize.h>
#include <torch/types.h>

namespace {

const char* name_of(torch::ScalarType type) {
  switch (type) {
    case torch::kBool:
      return "BOOL";
    case torch::kUInt8:
      return "U8";
    case torch::kInt64:
      return "I64";
    case torch::kFloat32:
      return "F32";
    case torch::kFloat64:
      return "F64";
    default:
      return "another type";
  }
}

std::string described(const torch::Tensor& tensor) {
  const torch::Tensor whole = tensor.contiguous();
  std::string shape, hex;
  for (const std::int64_t length : tensor.sizes())
    shape += (shape.empty() ? "" : ", ") + std::to_string(length);
  const auto* const bytes = static_cast<const std::uint8_t*>(whole.const_data_ptr());
  for (std::size_t i = 0; i < whole.nbytes(); ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  }
  return std::string(R"({"dtype": ")") + name_of(tensor.scalar_type()) + R"(", "shape": [)" + shape +
         R"(], "hex": ")" + hex + "\"}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string text;
  for (const auto& entry : torch::pickle_load(bytes).toGenericDict()) {
    text += text.empty() ? "{" : ", ";
    text += "\"" + entry.key().toStringRef() + "\": " + described(entry.value().toTensor());
  }
  std::printf("%s}\n", text.empty() ? "{" : text.c_str());
  return 0;
}
