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

// If true, gradients are summed even if the attempt has only one process. Tests on one accelerator set this.
inline std::atomic<bool> averages_alone = false;

class Averager {
 public:
  explicit Averager(Session& session);
  ~Averager();
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;

  void use(c10::intrusive_ptr<c10d::Backend> group) { given_ = std::move(group); }
  // `trained` must be the same in each call for one model, or for several models whose gradients are averaged
  // together.
  void average(const NamedWeights& trained, const Averaging& how);

 private:
  void prepare(const NamedWeights& trained, const Averaging& how);
  void connect(const NamedWeights& trained, c10::Device device);
  [[nodiscard]] std::shared_ptr<GradientBuckets> buckets_for(const NamedWeights& weights,
                                                             const GradientBuckets::Layout& layout);
  void compare_weights();
  void begin(std::size_t piece);
  void fill_one(std::size_t parameter);
  void average_during(const std::function<void()>& backward, BucketSchedule& schedule);
  void average_the_rest(BucketSchedule& schedule);
  void wait_for_device(bool returns_early);
  [[nodiscard]] bool has_world() const;
  void give_up();

  Session& session_;
  const int exceptions_ = std::uncaught_exceptions();
  c10::intrusive_ptr<c10d::Backend> given_;  // the program's group, until connect() takes it
  std::optional<RankGroup> ranks_;
  std::shared_ptr<Collective> on_device_;  // null: all parameters so far are on the CPU, or are summed there
  c10::Device device_ = c10::kCPU;         // of on_device_
  // True if the process group of the program can sum only tensors on the host, even if the parameters are on
  // an accelerator.
  bool adds_up_on_host_ = false;
  std::vector<std::shared_ptr<GradientBuckets>> all_buckets_;  // of the modules, the newest last
  std::vector<NamedWeights> all_weights_;                      // one per entry of all_buckets_
  std::shared_ptr<GradientBuckets> buckets_;                   // of the current step
  std::optional<c10::Stream> filled_on_;
};

}  // namespace ratoon
