// A LossScaler that gets orders of loss_scaler_test.py, line by line; after each it prints its state.
//
//   new FIRST GROWTH BACKOFF INTERVAL   another scaler, without gradients
//   grad PARAMETER VALUE VALUE | none PARAMETER
//   scale VALUE | unscale OPTIMIZER | step OPTIMIZER | update
//
//   done|refused, the number of the order, the scale, how often each optimizer stepped, all gradients
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <ratoon/failure.h>
#include <ratoon/torch/loss_scaler.h>

namespace {

// An optimizer that counts its steps, and changes nothing.
class Counter : public torch::optim::Optimizer {
 public:
  explicit Counter(const std::vector<at::Tensor>& parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(parameters)},
                  std::make_unique<torch::optim::SGDOptions>(0)) {}
  torch::Tensor step(LossClosure) override {
    ++steps;
    return {};
  }
  int steps = 0;
};

// A stream does not read "inf".
double next_number(std::istringstream& words) {
  std::string word;
  words >> word;
  return std::stod(word);
}

struct Scene {
  explicit Scene(const ratoon::torch::LossScalerOptions& options) : scaler(options) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble, at::kFloat})
      parameters.push_back(at::zeros({2}, at::TensorOptions(type)).set_requires_grad(true));
    using List = std::vector<at::Tensor>;
    optimizers = {
        std::make_unique<Counter>(List{parameters[0], parameters[1], parameters[0]}),  // one is tied
        std::make_unique<Counter>(List{parameters[2], parameters[3]})};
  }

  // The number in the order, or 0.
  double act(const std::string& order, std::istringstream& words) {
    std::size_t which = 0;
    double value = 0, other = 0;
    if (order == "update") {
      scaler.update();
    } else if (order == "scale") {
      value = next_number(words);
      return scaler.scale(at::tensor({value}, at::kDouble).to(at::kFloat)).item<double>();
    } else if (words >> which; order == "grad") {
      value = next_number(words);
      other = next_number(words);
      parameters[which].mutable_grad() =
          at::tensor({value, other}, at::kDouble).to(parameters[which].scalar_type());
    } else if (order == "none") {
      parameters[which].mutable_grad().reset();
    } else if (order == "unscale") {
      scaler.unscale(*optimizers[which]);
    } else {
      return scaler.step(*optimizers[which]) ? 1 : 0;
    }
    return 0;
  }

  ratoon::torch::LossScaler scaler;
  std::vector<at::Tensor> parameters;
  std::array<std::unique_ptr<Counter>, 2> optimizers;
};

void say(const Scene& scene, const char* outcome, double number) {
  std::printf("%s %.17g %.17g %d %d", outcome, number, scene.scaler.current(), scene.optimizers[0]->steps,
              scene.optimizers[1]->steps);
  for (const at::Tensor& parameter : scene.parameters) {
    if (!parameter.grad().defined())
      std::printf(" - -");
    else
      std::printf(" %.17g %.17g", parameter.grad()[0].item<double>(), parameter.grad()[1].item<double>());
  }
  std::printf("\n");
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  std::unique_ptr<Scene> scene;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    words >> order;
    const char* outcome = "done";
    double number = 0;
    if (order == "new") {
      ratoon::torch::LossScalerOptions options;
      words >> options.first >> options.growth >> options.backoff >> options.growth_interval;
      scene = std::make_unique<Scene>(options);
    } else {
      try {
        number = scene->act(order, words);
      } catch (const ratoon::Failure&) {
        outcome = "refused";
      }
    }
    say(*scene, outcome, number);
  }
}
