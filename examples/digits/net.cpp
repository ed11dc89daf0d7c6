#include "net.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>

torch::Tensor NetImpl::forward(torch::Tensor x) {
  x = torch::max_pool2d(torch::relu(first->forward(x)), 2);
  x = torch::max_pool2d(torch::relu(second->forward(x)), 2);
  x = torch::relu(hidden->forward(x.flatten(1)));
  return torch::log_softmax(last->forward(dropout->forward(x)), 1);
}

void report_weights(const torch::nn::Module& net, const std::string& file) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a; ratoon::digest() does not need the same order
  for (const auto& parameter : net.parameters()) {
    const auto weights = parameter.cpu();
    const std::span bytes(static_cast<const std::uint8_t*>(weights.const_data_ptr()), weights.nbytes());
    for (const std::uint8_t byte : bytes) digest = (digest ^ byte) * 0x100000001b3;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, digest);
  std::printf("weights %s\n", text);
  std::fflush(stdout);
  if (!file.empty() && !(std::ofstream(file) << text << '\n').flush())
    throw std::runtime_error("the digest of the weights cannot be written to " + file);
}
