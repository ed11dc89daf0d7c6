#include "gpt.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>

#include <torch/nn/functional/loss.h>

namespace {

constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kBlocks = 2;
constexpr double kDropout = 0.1;

torch::nn::LayerNorm norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

}  // namespace

BlockImpl::BlockImpl(std::int64_t width, std::int64_t head_count)
    : heads(head_count),
      before_attention(register_module("before_attention", norm(width))),
      before_wide(register_module("before_wide", norm(width))),
      query_key_value(register_module("query_key_value", torch::nn::Linear(width, 3 * width))),
      project(register_module("project", torch::nn::Linear(width, width))),
      widen(register_module("widen", torch::nn::Linear(width, 4 * width))),
      narrow(register_module("narrow", torch::nn::Linear(4 * width, width))),
      dropout(register_module("dropout", torch::nn::Dropout(kDropout))) {}

torch::Tensor BlockImpl::attend(const torch::Tensor& x) {
  const auto batch = x.size(0), length = x.size(1), width = x.size(2);
  const auto parts = query_key_value->forward(x).view({batch, length, 3, heads, width / heads}).unbind(2);
  const auto query = parts[0].transpose(1, 2), key = parts[1].transpose(1, 2),
             value = parts[2].transpose(1, 2);
  const auto scale = 1 / std::sqrt(static_cast<double>(width / heads));
  const auto later = torch::ones({length, length}, x.options().dtype(torch::kBool))
                         .triu(1);  // a letter does not attend to later ones
  const auto scores = (query.matmul(key.transpose(2, 3)) * scale)
                          .masked_fill(later, -std::numeric_limits<double>::infinity());
  const auto seen = dropout->forward(scores.softmax(3)).matmul(value);
  return project->forward(seen.transpose(1, 2).reshape({batch, length, width}));
}

torch::Tensor BlockImpl::forward(const torch::Tensor& x) {
  const auto attended = x + dropout->forward(attend(before_attention->forward(x)));
  const auto wide = torch::gelu(widen->forward(before_wide->forward(attended)));
  return attended + dropout->forward(narrow->forward(wide));
}

GptImpl::GptImpl(std::int64_t letters, std::int64_t window_size)
    : window(window_size),
      letter(register_module("letter", torch::nn::Embedding(letters, kWidth))),
      place(register_module("place", torch::nn::Embedding(window_size, kWidth))),
      blocks(register_module("blocks", torch::nn::Sequential())),
      normalize(register_module("normalize", norm(kWidth))),
      head(register_module("head", torch::nn::Linear(kWidth, letters))) {
  for (std::int64_t i = 0; i < kBlocks; ++i) blocks->push_back(Block(kWidth, kHeads));
}

torch::Tensor GptImpl::forward(const torch::Tensor& letters) {
  const auto places = torch::arange(letters.size(1), letters.options());
  return head->forward(
      normalize->forward(blocks->forward(letter->forward(letters) + place->forward(places))));
}

torch::Tensor GptImpl::loss(const torch::Tensor& rows) {
  const auto guesses = forward(rows.slice(1, 0, -1));
  return torch::nn::functional::cross_entropy(guesses.flatten(0, 1), rows.slice(1, 1).flatten());
}

torch::Tensor GptImpl::sample(torch::Tensor begin, std::int64_t count) {
  const torch::NoGradGuard no_gradients;
  eval();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto seen = begin.slice(0, std::max<std::int64_t>(begin.size(0) - window, 0)).unsqueeze(0);
    begin = torch::cat({begin, forward(seen)[0][-1].argmax(0, true)});
  }
  train();
  return begin;
}

void report_weights(const torch::nn::Module& model, const std::string& file) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a
  for (const auto& parameter : model.parameters()) {
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
