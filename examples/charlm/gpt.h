// A small GPT: embeddings of letters and places, blocks of causal attention and a wide layer, dropout.
#pragma once

#include <cstdint>
#include <string>

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

struct BlockImpl : torch::nn::Module {
  BlockImpl(std::int64_t width, std::int64_t heads);
  torch::Tensor forward(const torch::Tensor& x);

  std::int64_t heads;
  torch::nn::LayerNorm before_attention, before_wide;
  torch::nn::Linear query_key_value, project, widen, narrow;
  torch::nn::Dropout dropout;

 private:
  torch::Tensor attend(const torch::Tensor& x);
};
TORCH_MODULE(Block);

struct GptImpl : torch::nn::Module {
  GptImpl(std::int64_t letters, std::int64_t window);
  // The mean cross entropy of predicting each letter of I64 [batch, window + 1] from the letters before it.
  torch::Tensor loss(const torch::Tensor& rows);
  // Continues `begin` by `count` letters, always with the most likely one, and returns the whole text: I64
  // [begin + count].
  torch::Tensor sample(torch::Tensor begin, std::int64_t count);

  std::int64_t window;
  torch::nn::Embedding letter, place;
  torch::nn::Sequential blocks;
  torch::nn::LayerNorm normalize;
  torch::nn::Linear head;

 private:
  torch::Tensor forward(const torch::Tensor& letters);  // logits
};
TORCH_MODULE(Gpt);

// Prints a digest of the weights, and writes it into `file` unless it is empty.
void report_weights(const torch::nn::Module& model, const std::string& file);
