// A small network in memory of its own: embeddings of the letters before, a hidden layer, and the letter
// after them. One block of memory has all weights, and others with the same layout have the gradients, which
// are summed in double precision, and the moments of Adam.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

struct Network {
  explicit Network(std::uint64_t seed);

  // Adds the gradient of the loss of one sample, and returns the loss.
  double add_gradient(const std::uint8_t* letters);
  [[nodiscard]] double loss(const std::uint8_t* letters) const;
  // One step of Adam with the mean of the gradients of `samples` samples, which are cleared.
  void update(std::uint64_t step, std::uint64_t samples);

  // Views of memory that the network owns.
  std::span<float> weights{};
  std::span<double> gradients{};
  std::span<float> moments{};  // the first moments, then the second ones

 private:
  std::unique_ptr<float[]> floats_;
  std::unique_ptr<double[]> doubles_;
};

// Prints a digest of the weights.
void report_weights(const Network& network);
