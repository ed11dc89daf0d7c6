// The two networks of gan and plain_gan, and the points that they learn: eight clouds on a circle.
#pragma once

#include <cstdint>

#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

constexpr std::int64_t kNoise = 4;

struct GeneratorImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& noise) {
    return last->forward(torch::relu(first->forward(noise)));
  }

  torch::nn::Linear first = register_module("first", torch::nn::Linear(kNoise, 32));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(32, 2));
};
TORCH_MODULE(Generator);

struct DiscriminatorImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& points) {
    return last->forward(dropout->forward(torch::relu(first->forward(points))));
  }

  torch::nn::Linear first = register_module("first", torch::nn::Linear(2, 64));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.1));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(64, 1));
};
TORCH_MODULE(Discriminator);

inline torch::Tensor draw_points(std::int64_t count) {
  const auto angles = torch::randint(8, {count}) * (3.14159265358979 / 4);
  return torch::stack({angles.cos(), angles.sin()}, 1) + 0.1 * torch::randn({count, 2});
}
