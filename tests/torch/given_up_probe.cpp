// A trainer for given_up_test.py: rank 0 leaves the first attempt in the middle of a backward(), while rank 1
// neither comes to the collective nor closes its connections. Rank 1 goes on when no collective of rank 0 is
// left.
//
//   given_up_probe FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

#include "agent/src/torch/collectives/abandoned_collectives.h"
#include "tests/support/change_world.h"

namespace {

void wait_until_all_has_ended(const std::filesystem::path& file) {
  while (ratoon::release_done_collectives() != 0) std::this_thread::yield();
  std::printf("all has ended\n");
  std::ofstream{file};
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path has_ended = std::filesystem::path(argc > 1 ? argv[1] : ".") / "has-ended";
  torch::set_num_threads(1);
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    torch::manual_seed(1);
    // More than one piece of gradients, so that one piece is under way before the end of backward().
    torch::nn::Sequential net(torch::nn::Linear(1024, 1024), torch::nn::Linear(1024, 1024),
                              torch::nn::Linear(1024, 1024));
    session.track("net", *net);
    for (const std::uint64_t step : session.steps(3)) {
      const auto loss = net->forward(torch::ones({2, 1024})).square().mean();
      const bool leaves = session.attempt() == 1 && step == 1;
      if (leaves && session.rank() == 1) {
        while (!std::filesystem::exists(has_ended)) std::this_thread::yield();
        ratoon::test::change_world(session, "the test wants another attempt");
      }
      const auto backward = [&] {
        loss.backward();
        if (leaves) ratoon::test::change_world(session, "the test leaves a collective");
      };
      try {
        session.average_gradients(*net, {.backward = backward});
      } catch (const ratoon::Interrupted&) {
        if (leaves) wait_until_all_has_ended(has_ended);
        throw;
      }
    }
  });
}
