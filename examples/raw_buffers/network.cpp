#include "network.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <span>

#include "letters.h"

namespace {

constexpr std::size_t kLetters = Letters::kAlphabet;
constexpr std::size_t kContext = Letters::kContext;
constexpr std::size_t kWidth = 6;  // of an embedding
constexpr std::size_t kInputs = kContext * kWidth;
constexpr std::size_t kHidden = 24;

// Where the parts lie in a block.
constexpr std::size_t kEmbeddings = 0;
constexpr std::size_t kInputWeights = kEmbeddings + kLetters * kWidth;
constexpr std::size_t kOutputWeights = kInputWeights + kHidden * (kInputs + 1);  // with a bias each
constexpr std::size_t kNumbers = kOutputWeights + kLetters * (kHidden + 1);

struct Activations {
  std::array<float, kInputs> inputs{};
  std::array<float, kHidden> hidden{};
  std::array<float, kLetters> odds{};
};

// The products of rows with a bias at their end.
template <std::size_t kRows, std::size_t kColumns>
void multiply(const float* rows, const std::array<float, kColumns>& by, std::array<float, kRows>& into) {
  for (std::size_t row = 0; row < kRows; ++row, rows += kColumns + 1) {
    into[row] = rows[kColumns];
    for (std::size_t i = 0; i < kColumns; ++i) into[row] += rows[i] * by[i];
  }
}

template <std::size_t kRows, std::size_t kColumns>
void multiply_back(const float* rows, const std::array<float, kColumns>& by, double* row_gradients,
                   const std::array<float, kRows>& errors, std::array<float, kColumns>& errors_of_by) {
  for (std::size_t row = 0; row < kRows; ++row, rows += kColumns + 1, row_gradients += kColumns + 1) {
    row_gradients[kColumns] += static_cast<double>(errors[row]);
    for (std::size_t i = 0; i < kColumns; ++i) {
      row_gradients[i] += static_cast<double>(errors[row] * by[i]);
      errors_of_by[i] += errors[row] * rows[i];
    }
  }
}

double forward(const float* weights, const std::uint8_t* letters, Activations& at) {
  for (std::size_t i = 0; i < kContext; ++i)
    std::copy_n(weights + kEmbeddings + letters[i] * kWidth, kWidth, at.inputs.data() + i * kWidth);
  multiply(weights + kInputWeights, at.inputs, at.hidden);
  for (float& one : at.hidden) one = std::tanh(one);
  multiply(weights + kOutputWeights, at.hidden, at.odds);
  const float highest = *std::max_element(at.odds.begin(), at.odds.end());
  float sum = 0;
  for (float& one : at.odds) sum += one = std::exp(one - highest);
  for (float& one : at.odds) one /= sum;
  return -std::log(static_cast<double>(at.odds[letters[kContext]]));
}

}  // namespace

Network::Network(std::uint64_t seed)
    : floats_(std::make_unique<float[]>(3 * kNumbers)), doubles_(std::make_unique<double[]>(kNumbers)) {
  weights = {floats_.get(), kNumbers};
  moments = {floats_.get() + kNumbers, 2 * kNumbers};
  gradients = {doubles_.get(), kNumbers};
  for (float& weight : weights) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    weight = 0.3F * (static_cast<float>(seed >> 40) * 0x1p-23F - 1);
  }
}

double Network::loss(const std::uint8_t* letters) const {
  Activations at;
  return forward(weights.data(), letters, at);
}

double Network::add_gradient(const std::uint8_t* letters) {
  Activations at;
  const double loss = forward(weights.data(), letters, at);
  auto errors = at.odds;
  errors[letters[kContext]] -= 1;
  std::array<float, kHidden> of_hidden{};
  multiply_back(weights.data() + kOutputWeights, at.hidden, gradients.data() + kOutputWeights, errors,
                of_hidden);
  for (std::size_t i = 0; i < kHidden; ++i) of_hidden[i] *= 1 - at.hidden[i] * at.hidden[i];
  std::array<float, kInputs> of_inputs{};
  multiply_back(weights.data() + kInputWeights, at.inputs, gradients.data() + kInputWeights, of_hidden,
                of_inputs);
  for (std::size_t i = 0; i < kInputs; ++i)
    gradients[kEmbeddings + letters[i / kWidth] * kWidth + i % kWidth] += static_cast<double>(of_inputs[i]);
  return loss;
}

void Network::update(std::uint64_t step, std::uint64_t samples) {
  constexpr float kRate = 0.01F, kFirst = 0.9F, kSecond = 0.999F;
  const auto steps = static_cast<float>(step + 1);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const auto gradient = static_cast<float>(gradients[i] / static_cast<double>(samples));
    float& first = moments[i];
    float& second = moments[kNumbers + i];
    first = kFirst * first + (1 - kFirst) * gradient;
    second = kSecond * second + (1 - kSecond) * gradient * gradient;
    const float corrected = second / (1 - std::pow(kSecond, steps));
    weights[i] -= kRate * first / (1 - std::pow(kFirst, steps)) / (std::sqrt(corrected) + 1e-8F);
  }
  std::ranges::fill(gradients, 0.0);
}

void report_weights(const Network& network) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : std::as_bytes(network.weights))
    digest = (digest ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  std::printf("weights %016" PRIx64 "\n", digest);
}
