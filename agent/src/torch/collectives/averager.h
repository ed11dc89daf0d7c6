// Averager: the state of one attempt for averaging gradients over the ranks. Each Session has one Averager.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <ratoon/session.h>

#include "agent/src/torch/collectives/gradients/bucket_schedule.h"
#include "agent/src/torch/collectives/gradients/gradient_buckets.h"
#include "agent/src/torch/collectives/gradients/weights_fingerprint.h"
#include "agent/src/torch/collectives/rank_group.h"

namespace ratoon {

// If true, gradients are summed even with one process; tests on one accelerator set averages_with_one_rank.
inline std::atomic<bool> averages_with_one_rank = false;

class Averager {
 public:
  explicit Averager(Session& session);
  ~Averager();
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;

  void use(c10::intrusive_ptr<c10d::Backend> group) { program_group_ = std::move(group); }
  // `modules` contains the weights of each module whose gradients are averaged together. Each call for the
  // same modules passes the same weights.
  void average(const std::vector<NamedWeights>& modules, const Averaging& how);

 private:
  // TrainedModules: the weights of the modules whose gradients one call averages, the buckets of these
  // gradients, and the order in which the sums of the buckets begin.
  struct TrainedModules {
    NamedWeights weights{};
    std::shared_ptr<GradientBuckets> buckets{};
    std::vector<std::size_t> order{};
    std::uint64_t last_call = 0;  // the last call of average() that used this entry
  };

  void prepare(const std::vector<NamedWeights>& modules, const Averaging& how);
  void connect(const NamedWeights& trained, c10::Device device);
  // Moves the entry of these weights to the end of trained_modules_, or adds an entry there.
  void move_entry_to_end(const NamedWeights& weights, const GradientBuckets::Layout& layout);
  void compare_weights();
  void begin(std::size_t piece);
  void fill_gradient(std::size_t parameter);
  void average_during(const std::function<void()>& backward, BucketSchedule& schedule);
  void average_remaining(BucketSchedule& schedule);
  void wait_for_device(bool returns_early);
  [[nodiscard]] bool is_world_complete() const;
  void give_up();

  Session& session_;
  const int exceptions_in_flight_ = std::uncaught_exceptions();
  c10::intrusive_ptr<c10d::Backend> program_group_;  // the program's group, until connect() takes it
  std::optional<RankGroup> rank_group_;
  std::shared_ptr<Collective>
      device_collective_;           // null: all parameters so far are on the CPU, or are summed there
  c10::Device device_ = c10::kCPU;  // of device_collective_
  // True if the process group of the program can sum only tensors on the host, even if the parameters are on
  // an accelerator.
  bool must_sum_on_host_ = false;
  std::uint64_t call_count_ = 0;                 // of average()
  std::vector<TrainedModules> trained_modules_;  // in the order of their last use
  std::shared_ptr<GradientBuckets> buckets_;     // of the current call
  std::optional<c10::Stream> fill_stream_;
};

}  // namespace ratoon
