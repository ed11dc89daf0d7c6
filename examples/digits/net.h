// The network of digits and plain_digits.
#pragma once

#include <string>

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x);

  torch::nn::Conv2d first =
      register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)));
  torch::nn::Conv2d second =
      register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)));
  torch::nn::Linear hidden = register_module("hidden", torch::nn::Linear(32 * 4 * 4, 128));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.25));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(128, 10));
};
TORCH_MODULE(Net);

// Prints a digest of the weights, and writes it into `file` unless it is empty.
void report_weights(const torch::nn::Module& net, const std::string& file);
