// What a LibTorch trainer may do that links ratoon::agent_torch.
#include <cstdio>
#include <vector>

#include <ATen/ops/ones.h>

#include <ratoon/torch/digest.h>

#ifdef CONSUMER_CUDA
#include <ratoon/torch/nccl.h>
#endif

int main() {
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
