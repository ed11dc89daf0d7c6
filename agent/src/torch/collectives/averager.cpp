#include "agent/src/torch/collectives/averager.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/telemetry/say.h"
#include "agent/src/torch/collectives/abandoned_collectives.h"
#include "agent/src/torch/collectives/gradients/gradient_watch.h"
#include "agent/src/torch/collectives/nccl/device_collectives.h"

namespace ratoon {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  session::fail(ExitCode::kConfiguration, sentence);
}

std::vector<at::Tensor> tensors_of(const NamedWeights& weights) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : weights) tensors.push_back(tensor);
  return tensors;
}

c10::Device device_of(const NamedWeights& trained) {
  if (trained.empty()) return c10::kCPU;
  const auto& [first, tensor] = trained.front();
  const c10::Device device = tensor.device();
  for (const auto& [name, other] : trained) {
    if (other.device() == device) continue;
    refuse("parameter \"" + first + "\" is on " + device.str() + " and \"" + name + "\" on " +
           other.device().str() +
           ": average_gradients() takes parameters that are on one device; move them there with "
           "module->to(device)");
  }
  return device;
}

GradientBuckets::Layout layout_for(c10::Device device, const Averaging& how) {
  constexpr std::size_t kOnCpu = 8 << 20;
  constexpr std::size_t kOnDevice = 25 << 20;
  return {.bucket_bytes = how.bucket_bytes.value_or(device.is_cpu() ? kOnCpu : kOnDevice),
          .device = device,
          .sum_in_half_precision = how.sum_in_half_precision && !device.is_cpu()};
}

// Creates the collective that sums gradients on the accelerator itself (NCCL).
std::shared_ptr<Collective> connect_on(c10::Device device, Session& session, const RankGroup& ranks) {
  const auto make = find_device_collective(device.type());
  if (make == nullptr) {
    refuse("the parameters are on " + device.str() +
           ", and this program links no library that sums there: link ratoon::agent_torch_cuda, which sums "
           "with NCCL, or set over_host in average_gradients(), which is slow");
  }
  const auto waits = session.in(Phase::kCollective);
  return make(
      {.device = device,
       .rank = session.rank(),
       .world_size = session.world_size(),
       .broadcast_from_first = [&](std::span<std::uint8_t> bytes) { ranks.broadcast_from_first(bytes); },
       .look = [&session] { session.check(); }});
}

// Waits until no sum writes into gradients any longer. A sum that does not end would keep using the
// accelerator and memory that the next attempt needs. If an aborted sum does not end in time, this process
// ends without destroying objects, and a new process continues.
void wait_until_stopped(Collective& collective) {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kPause = std::chrono::microseconds(200);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!collective.has_stopped()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      session::say(
          "sums on the accelerator were aborted and have not ended after 30 s: a kernel that was queued "
          "before them does not end; this process ends, and a new process continues");
      session::exit_now(static_cast<int>(ExitCode::kAbortOverdue));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// Returns false after a permanent error of the accelerator. Work on a broken accelerator never ends, so the
// memory of this work must not be released.
bool is_over(const std::shared_ptr<Collective>& collective) {
  try {
    return !collective || collective->is_over();
  } catch (const std::exception&) {
    return false;
  }
}

void abort(const std::shared_ptr<Collective>& collective) {
  try {
    if (collective) collective->abort();
  } catch (const std::exception& error) {
    session::say(std::string("sums over the ranks could not be aborted: ") + error.what());
  }
}

void end_group(c10d::Backend& group) {
  group.abort();
}

}  // namespace

Averager::Averager(Session& session) : session_(session) {
  session_.before_saves([this] {
    if (on_device_) finish_sums(session_, *on_device_);
  });
  session_.before_saves_of_all([this] { compare_weights(); });
}

// If a process was lost or an exception was thrown, sums that have begun may never end.
Averager::~Averager() {
  if (!on_device_) return;
  try {
    const bool is_in_order = std::uncaught_exceptions() == exceptions_ && has_world();
    if (!is_in_order || !on_device_->close()) give_up();
  } catch (...) {  // an accelerator with a permanent error: the process is about to end with it
  }
}

bool Averager::has_world() const {
  try {
    session_.check();
    return true;
  } catch (...) {
    return false;
  }
}

void Averager::average(const NamedWeights& trained, const Averaging& how) {
  try {
    prepare(trained, how);
    buckets_->begin(session_.world_size(), how.samples);
    BucketSchedule schedule(buckets_->places(), buckets_->pieces().size());
    filled_on_.reset();
    if (how.backward) average_during(how.backward, schedule);
    average_the_rest(schedule);
    if (on_device_) on_device_->queue_wait();
    const std::uint32_t requests = buckets_->finish();
    if (on_device_) wait_for_device(how.return_early);
    session_.take_sums(buckets_->more().first<Session::kNumbers>());
    session_.agree(requests);
  } catch (...) {
    give_up();
    throw;
  }
}

void Averager::prepare(const NamedWeights& trained, const Averaging& how) {
  const c10::Device parameters_on = device_of(trained);
  const c10::Device device = how.over_host || adds_up_on_host_ ? c10::kCPU : parameters_on;
  if (!ranks_ || given_ || (!device.is_cpu() && device != device_)) connect(trained, device);
  const auto layout = layout_for(adds_up_on_host_ ? c10::kCPU : device, how);
  if (layout.sum_in_half_precision && how.samples) {
    refuse(
        "average_gradients() was given samples and sum_in_half_precision: a gradient times its samples is "
        "too large a number for half precision; leave out one of the two options");
  }
  buckets_ = buckets_for(trained, layout);
}

// A program may train several modules in turn. connect() compares the weights of the first module between
// ranks; the weights of every other module are compared when it is used for the first time.
std::shared_ptr<GradientBuckets> Averager::buckets_for(const NamedWeights& weights,
                                                       const GradientBuckets::Layout& layout) {
  constexpr std::size_t kModules = 4;
  std::vector<at::Tensor> parameters = tensors_of(weights);
  const auto known = std::ranges::find_if(
      all_buckets_, [&](const auto& buckets) { return buckets->is_for(parameters, layout); });
  if (known != all_buckets_.end()) return *known;
  if (all_buckets_.size() == kModules) {
    all_buckets_.erase(all_buckets_.begin());
    all_weights_.erase(all_weights_.begin());
  }
  all_weights_.push_back(weights);
  all_buckets_.push_back(std::make_shared<GradientBuckets>(std::move(parameters), Session::kNumbers, layout));
  if (all_buckets_.size() > 1) compare_weights();
  return all_buckets_.back();
}

void Averager::connect(const NamedWeights& trained, c10::Device device) {
  const auto given = std::exchange(given_, nullptr);
  if (given) check_group_ranks(session_, *given);
  if (given && (device.is_cpu() || given->getBackendName() == "gloo")) {
    adds_up_on_host_ = true;
    ranks_.emplace(session_, fingerprint_weights(trained), given);
    return;
  }
  if (!ranks_) ranks_.emplace(session_, fingerprint_weights(trained));
  if (device.is_cpu()) return;
  on_device_ =
      given ? std::make_shared<GroupCollective>(given, end_group) : connect_on(device, session_, *ranks_);
  device_ = device;
}

// Throws an error if the weights differ between ranks, because a run could not resume correctly from a
// checkpoint of such weights.
void Averager::compare_weights() {
  if (!ranks_ || !ranks_->collective()) return;
  if (on_device_) finish_sums(session_, *on_device_);
  NamedWeights all;
  std::set<const at::TensorImpl*> known;
  for (const NamedWeights& weights : all_weights_)
    for (const auto& named : weights)
      if (named.second.requires_grad() && known.insert(named.second.unsafeGetTensorImpl()).second)
        all.push_back(named);
  ranks_->compare_again(fingerprint_weights(all));
}

void Averager::begin(std::size_t piece) {
  buckets_->fill(piece);
  const at::Tensor& sums = buckets_->pieces()[piece];
  if (!sums.is_cpu())
    on_device_->begin_sum(sums);
  else if (ranks_->collective())  // a world of one has none
    ranks_->collective()->begin_sum(sums);
}

// A program may compute gradients on several streams of the accelerator, and one bucket may contain gradients
// of several streams. Therefore each stream waits until the stream before it has written its gradients.
void Averager::fill_one(std::size_t parameter) {
  if (on_device_) {
    const c10::Stream now = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    if (filled_on_ && *filled_on_ != now) {
      c10::Event filled(device_.type());
      filled.record(*filled_on_);
      filled.block(now);
    }
    filled_on_ = now;
  }
  buckets_->fill_one(parameter);
}

void Averager::average_during(const std::function<void()>& backward, BucketSchedule& schedule) {
  const GradientWatch watch(buckets_->parameters(), [&](std::size_t parameter) {
    session_.check();
    if (!schedule.note(parameter)) {
      refuse("parameter " + std::to_string(parameter) +
             " received a gradient twice while gradients were averaged: call backward() once within "
             "average_gradients(), and other backward() calls outside");
    }
    fill_one(parameter);
    while (schedule.has_full()) begin(schedule.take());
  });
  watch.during(backward);
}

void Averager::average_the_rest(BucketSchedule& schedule) {
  const auto waits = session_.in(Phase::kCollective);
  buckets_->tell(session_.requests());
  std::ranges::copy(session_.numbers(), buckets_->more().begin());
  while (schedule.has_any()) begin(schedule.take());
  if (ranks_->collective()) finish_sums(session_, *ranks_->collective());
}

// Waits until the device has finished all sums. Weights are updated only after this wait, because a sum that
// still runs may be aborted.
void Averager::wait_for_device(bool returns_early) {
  if (returns_early && !on_device_->error()) return;
  const auto waits = session_.in(Phase::kCollective);
  finish_sums(session_, *on_device_);
}

// Gradients are used only after all sums over the ranks have ended, because they may change until then. Sums
// over a process group of the program end only at the timeout of that group.
void Averager::give_up() {
  struct AbandonedWork {
    std::vector<std::shared_ptr<GradientBuckets>> buckets;
    std::shared_ptr<Collective> host;
    std::shared_ptr<Collective> device;
  };
  for (const auto& buckets : all_buckets_) buckets->let_go();
  buckets_ = nullptr;
  const auto work = std::make_shared<AbandonedWork>(AbandonedWork{
      std::exchange(all_buckets_, {}), ranks_ ? ranks_->collective() : nullptr, std::move(on_device_)});
  ranks_.reset();
  all_weights_.clear();
  device_ = c10::kCPU;
  adds_up_on_host_ = false;
  retain(work, [r = work.get()] { return is_over(r->host) && is_over(r->device); });
  abort(work->host);
  abort(work->device);
  if (!work->device) return;
  wait_until_stopped(*work->device);
  // NCCL may destroy its remaining objects later, while the next attempt already uses the freed memory. If
  // sums on the host may still write into the buckets, the memory of the buckets is kept.
  if (!work->host || work->host->has_stopped()) work->buckets.clear();
}

}  // namespace ratoon
