// Averager: what one attempt needs for averaging gradients; one a Session.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <ratoon/session.h>

#include "agent/src/torch/collectives/gradient_buckets.h"
#include "agent/src/torch/collectives/piece_turns.h"
#include "agent/src/torch/collectives/ranks.h"

namespace torch::nn {
class Module;
}

namespace ratoon {

// For tests on one accelerator: a world of one, which has nothing to add up, goes the whole way.
inline std::atomic<bool> averages_alone = false;

class Averager {
 public:
  explicit Averager(Session& session) : session_(session) {}
  ~Averager();
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;

  void use(c10::intrusive_ptr<c10d::Backend> group) { given_ = std::move(group); }
  void average(::torch::nn::Module& module, const Averaging& how);

 private:
  void prepare(const ::torch::nn::Module& module, const Averaging& how);
  void connect(const ::torch::nn::Module& module, c10::Device device);
  void begin(std::size_t piece);
  void average_during(const std::function<void()>& backward, PieceTurns& turns);
  void average_the_rest(PieceTurns& turns);
  void wait_for_device(bool returns_early);
  void give_up();

  Session& session_;
  c10::intrusive_ptr<c10d::Backend> given_;  // and not taken over yet
  std::optional<Ranks> ranks_;
  std::shared_ptr<Collective> on_device_;  // null: parameters are on the CPU, or add up there
  std::shared_ptr<GradientBuckets> buckets_;
};

}  // namespace ratoon
