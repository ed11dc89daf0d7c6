// A trainer for own_group_test.py: gradients are averaged over a process group that the program has made.
//
//   own_group_probe FOLDER [other-weights|other-size|dies]
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

#include "agent/src/torch/collectives/gloo.h"
#include "tests/torch/end_together.h"

namespace {

constexpr std::uint64_t kSteps = 60;

// Counts the calls.
class CountedGroup : public c10d::Backend {
 public:
  explicit CountedGroup(c10::intrusive_ptr<c10d::Backend> group)
      : Backend(group->getRank(), group->getSize()), group_(std::move(group)) {}

  const std::string getBackendName() const override { return "counted"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    ++calls;
    return group_->allreduce(tensors, options);
  }

  std::uint64_t calls = 0;

 private:
  c10::intrusive_ptr<c10d::Backend> group_;
};

c10::intrusive_ptr<CountedGroup> make_group(const std::string& folder, const ratoon::Session& session,
                                            bool is_of_all) {
  const int rank = is_of_all ? static_cast<int>(session.rank()) : 0;
  const int size = is_of_all ? static_cast<int>(session.world_size()) : 1;
  const std::string file = folder + "/store-" + std::to_string(session.attempt()) +
                           (is_of_all ? "" : "-" + std::to_string(session.rank()));
  return c10::make_intrusive<CountedGroup>(ratoon::connect_with_gloo(
      c10::make_intrusive<c10d::FileStore>(file, size), rank, size, "127.0.0.1", std::chrono::minutes(2)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string_view mode = argc > 2 ? argv[2] : "";
  torch::set_num_threads(1);
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  const int code =
      ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
        rank = session.rank();
        world_size = session.world_size();
        torch::manual_seed(mode == "other-weights" ? session.rank() : 1);
        torch::nn::Linear net(3, 2);
        session.track("net", *net);
        const auto group = make_group(folder, session, mode != "other-size");
        ratoon::torch::use_group(session, group);
        std::uint64_t steps = 0;
        for (const std::uint64_t step : session.steps(kSteps)) {
          for (torch::Tensor& parameter : net->parameters())
            parameter.mutable_grad() =
                torch::full_like(parameter, static_cast<double>(2 * session.rank() + step));
          if (mode == "dies" && session.attempt() == 1 && session.rank() == 1 && step == kSteps / 2)
            static_cast<void>(std::raise(SIGKILL));
          session.average_gradients(*net);
          for (const torch::Tensor& parameter : net->parameters())
            if (!parameter.grad().equal(torch::full_like(parameter, static_cast<double>(step + 1))))
              throw std::runtime_error("the mean of two ranks is not " + std::to_string(step + 1));
          ++steps;
        }
        // One call compared the weights, and one call per step: all gradients fit into one piece. No
        // checkpoint is saved within the loop.
        std::printf("attempt %llu: %llu steps, %llu calls\n",
                    static_cast<unsigned long long>(session.attempt()),
                    static_cast<unsigned long long>(steps), static_cast<unsigned long long>(group->calls));
      });
  return ratoon::test::end_together(code, folder, rank, world_size);
}
