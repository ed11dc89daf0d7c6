// A LibTorch trainer that links ratoon::agent_torch.
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ops/ones.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <ratoon/torch.h>

#ifdef CONSUMER_CUDA
#include <ratoon/torch/nccl.h>
#endif

// This function is never called with a session here; it must compile and link, Gloo included.
void train(ratoon::Session& session) {
  torch::nn::Linear net(2, 2);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  session.track("net", *net);
  session.track("optimizer", optimizer);
  session.average_gradients(*net);
}

int main(int argc, char** argv) {
  if (argc > 1) return ratoon::train(ratoon::Options::from_environment(argc, argv), train);
  const std::vector<ratoon::NamedTensor> weights = {{"w", at::ones({2, 3})}};
  const auto digest = ratoon::digest(weights);
  if (!digest) return 1;
  std::printf("digest %s\n", digest->c_str());
#ifdef CONSUMER_CUDA
  const auto versions = ratoon::nccl_versions();
  if (!versions || !ratoon::check_nccl(*versions)) return 1;
  std::printf("nccl %s\n", ratoon::to_string(versions->loaded).c_str());
#endif
  return 0;
}
