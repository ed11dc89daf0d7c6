#include "agent/src/torch/collectives/averager.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <torch/nn/module.h>

#include <ratoon/failure.h>

#include "agent/src/session/leaving.h"
#include "agent/src/session/say.h"
#include "agent/src/torch/collectives/device_collectives.h"
#include "agent/src/torch/collectives/gradient_watch.h"
#include "agent/src/torch/collectives/graveyard.h"
#include "agent/src/torch/collectives/weights_mark.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

std::vector<at::Tensor> trained_parameters(const ::torch::nn::Module& module) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : module.parameters())
    if (parameter.requires_grad()) parameters.push_back(parameter);
  return parameters;
}

c10::Device device_of(const ::torch::nn::Module& module) {
  std::optional<c10::Device> device;
  std::string first;
  for (const auto& item : module.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    if (device && *device != item.value().device()) {
      refuse("parameter \"" + first + "\" is on " + device->str() + " and \"" + item.key() + "\" on " +
             item.value().device().str() +
             ": average_gradients() takes a module whose parameters are on one "
             "device; move them there with module->to(device)");
    }
    if (!device) {
      device = item.value().device();
      first = item.key();
    }
  }
  return device.value_or(c10::kCPU);
}

GradientBuckets::Layout layout_for(c10::Device device, const Averaging& how) {
  constexpr std::size_t kOnCpu = 8 << 20;
  constexpr std::size_t kOnDevice = 25 << 20;
  return {.bucket_bytes = how.bucket_bytes.value_or(device.is_cpu() ? kOnCpu : kOnDevice),
          .device = device,
          .sum_in_half_precision = how.sum_in_half_precision && !device.is_cpu()};
}

// What adds up on the accelerator itself.
std::shared_ptr<Collective> connect_on(c10::Device device, Session& session, const Ranks& ranks) {
  const auto make = find_device_collective(device.type());
  if (make == nullptr) {
    refuse(
        "the parameters are on " + device.str() +
        ", and this program links nothing that adds up there: link ratoon::agent_torch_cuda, which does so "
        "with NCCL, or say over_host in average_gradients(), which is slow");
  }
  const auto waits = session.in(Phase::kCollective);
  return make({.device = device,
               .rank = session.rank(),
               .world_size = session.world_size(),
               .share_from_first = [&](std::span<std::uint8_t> bytes) { ranks.share_from_first(bytes); },
               .look = [&session] { session.check(); }});
}

// Until nothing writes into gradients any longer. What does not end keeps the accelerator, and memory that
// the next attempt needs: another process goes on then, and this one ends without tearing anything down.
void wait_until_stopped(Collective& collective) {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kPause = std::chrono::microseconds(200);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!collective.has_stopped()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      session::say(
          "sums on the accelerator were aborted and have not ended after 30 s: a kernel that was queued "
          "before "
          "them does not end; this process ends, and a fresh one goes on");
      session::leave_now(static_cast<int>(ExitCode::kAbortOverdue));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// Never, on an accelerator with an error that stays: what is on it is not taken apart.
bool is_over(const std::shared_ptr<Collective>& collective) {
  try {
    return !collective || collective->is_over();
  } catch (const std::exception&) {
    return false;
  }
}

void end_group(c10d::Backend& group) {
  group.abort();
}

}  // namespace

// Collectives of ranks that are lost do not part.
Averager::~Averager() {
  if (!on_device_) return;
  try {
    session_.check();
  } catch (...) {
    on_device_->abort();
  }
}

void Averager::average(::torch::nn::Module& module, const Averaging& how) {
  prepare(module, how);
  buckets_->begin(session_.world_size(), how.samples);
  try {
    PieceTurns turns(buckets_->places(), buckets_->pieces().size());
    if (how.backward) average_during(how.backward, turns);
    average_the_rest(turns);
    if (on_device_) on_device_->queue_wait();
    const std::uint32_t wishes = buckets_->finish();
    if (on_device_) wait_for_device(how.return_early);
    session_.take_sums(buckets_->more().first<Session::kNumbers>());
    session_.agree(wishes);
  } catch (...) {
    give_up();
    throw;
  }
}

void Averager::prepare(const ::torch::nn::Module& module, const Averaging& how) {
  const c10::Device device = how.over_host ? c10::kCPU : device_of(module);
  if (!ranks_ || given_) connect(module, device);
  auto parameters = trained_parameters(module);
  const auto layout = layout_for(device, how);
  if (!buckets_ || !buckets_->is_for(parameters, layout))
    buckets_ = std::make_shared<GradientBuckets>(std::move(parameters), Session::kNumbers, layout);
}

void Averager::connect(const ::torch::nn::Module& module, c10::Device device) {
  const WeightsMark mark = mark_weights(module);
  const auto given = std::exchange(given_, nullptr);
  if (given && device.is_cpu()) {
    ranks_.emplace(session_, mark, given);
    return;
  }
  if (!ranks_) ranks_.emplace(session_, mark);
  if (device.is_cpu()) return;
  on_device_ =
      given ? std::make_shared<GroupCollective>(given, end_group) : connect_on(device, session_, *ranks_);
  session_.before_saves([this] {
    if (on_device_) finish_sums(session_, *on_device_);
  });
}

void Averager::begin(std::size_t piece) {
  buckets_->fill(piece);
  const at::Tensor& sums = buckets_->pieces()[piece];
  Collective* const collective = sums.is_cpu() ? ranks_->collective().get() : on_device_.get();
  if (collective != nullptr) collective->begin_sum(sums);
}

void Averager::average_during(const std::function<void()>& backward, PieceTurns& turns) {
  const GradientWatch watch(buckets_->parameters(), [&](std::size_t parameter) {
    session_.check();
    if (!turns.note(parameter)) {
      refuse("parameter " + std::to_string(parameter) +
             " was given a gradient twice while gradients were averaged: call backward() once within "
             "average_gradients(), and what comes before it outside");
    }
    buckets_->fill_one(parameter);
    while (turns.has_full()) begin(turns.take());
  });
  watch.during(backward);
}

void Averager::average_the_rest(PieceTurns& turns) {
  const auto waits = session_.in(Phase::kCollective);
  buckets_->tell(session_.wishes());
  std::ranges::copy(session_.numbers(), buckets_->more().begin());
  while (turns.has_any()) begin(turns.take());
  if (ranks_->collective()) finish_sums(session_, *ranks_->collective());
}

// The commit gate: nothing that changes weights is queued behind sums that may still be aborted.
void Averager::wait_for_device(bool returns_early) {
  if (returns_early && !on_device_->error()) return;
  const auto waits = session_.in(Phase::kCollective);
  finish_sums(session_, *on_device_);
}

// Nothing of what was averaged in part is a gradient any more: it may change until all has ended, which
// takes the time-out of a group that is the program's.
void Averager::give_up() {
  struct Remains {
    std::shared_ptr<GradientBuckets> buckets;
    std::shared_ptr<Collective> host;
    std::shared_ptr<Collective> device;
  };
  if (buckets_) buckets_->let_go();
  const auto remains = std::make_shared<Remains>(
      Remains{std::move(buckets_), ranks_ ? ranks_->collective() : nullptr, std::move(on_device_)});
  ranks_.reset();
  if (remains->host) remains->host->abort();
  if (remains->device) remains->device->abort();
  bury(remains, [r = remains.get()] { return is_over(r->host) && is_over(r->device); });
  if (remains->device) wait_until_stopped(*remains->device);
}

}  // namespace ratoon
