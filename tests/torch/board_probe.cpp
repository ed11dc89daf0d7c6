// A trainer for board_attacks_nightly_test.py: ranks whose gradients are averaged, and whose steps wait for a
// test. Each attempt meets at the board of rank 0.
//
//   TEST_STEP_GATE=file board_probe STEPS
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>

#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

#include "tests/integration/gate.h"

int main(int argc, char** argv) {
  const std::uint64_t steps = argc > 1 ? std::stoull(argv[1]) : 100;
  torch::set_num_threads(1);
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    ratoon::test::Gate gate;
    torch::manual_seed(1);
    torch::nn::Linear net(64, 64);
    torch::optim::Adam optimizer(net->parameters(), 1e-3);
    session.track("net", *net);
    session.track("optimizer", optimizer);
    for (const std::uint64_t step : session.steps(steps)) {
      gate.wait_for(step, session);
      optimizer.zero_grad();
      const double share = 1.0 + static_cast<double>(session.rank()) + static_cast<double>(step % 7);
      net->forward(torch::full({4, 64}, share)).square().mean().backward();
      session.average_gradients(*net);
      optimizer.step();
      const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
      std::printf("attempt %" PRIu64 " rank %u step %" PRIu64 " at %.6f\n", session.attempt(), session.rank(),
                  step, now.count());
      std::fflush(stdout);
    }
    std::printf("weights %s\n", ratoon::digest(*net).value().c_str());
  });
}
