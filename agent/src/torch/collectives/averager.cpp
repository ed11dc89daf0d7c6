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

NamedWeights join_weights(const std::vector<NamedWeights>& modules) {
  NamedWeights all;
  for (const NamedWeights& weights : modules) all.insert(all.end(), weights.begin(), weights.end());
  return all;
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

GradientBuckets::Layout bucket_layout_for(c10::Device device, const Averaging& how) {
  constexpr std::size_t kOnCpu = 8 << 20;
  constexpr std::size_t kOnDevice = 25 << 20;
  return {.bucket_bytes = how.bucket_bytes.value_or(device.is_cpu() ? kOnCpu : kOnDevice),
          .device = device,
          .sum_in_half_precision = how.sum_in_half_precision && !device.is_cpu()};
}

// Creates the collective that sums gradients on the accelerator itself (NCCL).
std::shared_ptr<Collective> make_device_collective(c10::Device device, Session& session,
                                                   const RankGroup& ranks) {
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
       .broadcast_from_rank_0 = [&](std::span<std::uint8_t> bytes) { ranks.broadcast_from_rank_0(bytes); },
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
          "before them, or the abort itself, does not end; this process ends, and a new process continues");
      session::exit_now(static_cast<int>(ExitCode::kAbortOverdue));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// If the accelerator has reported a permanent error, returns false, because work on a broken accelerator
// never ends and its memory must not be released.
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

void abort_group(c10d::Backend& group) {
  group.abort();
}

}  // namespace

Averager::Averager(Session& session) : session_(session) {
  session_.before_saves([this] {
    if (device_collective_) finish_sums(session_, *device_collective_);
  });
  session_.before_saves_of_all([this] { compare_weights(); });
}

// If a process was lost or an exception was thrown, gives up the sums that have begun: they may never end.
Averager::~Averager() {
  if (!device_collective_) return;
  try {
    const bool is_in_order = std::uncaught_exceptions() == exceptions_in_flight_ && is_world_complete();
    if (!is_in_order || !device_collective_->close()) give_up();
  } catch (...) {  // an accelerator with a permanent error: the process is about to end with it
  }
}

bool Averager::is_world_complete() const {
  try {
    session_.check();
    return true;
  } catch (...) {
    return false;
  }
}

void Averager::average(const std::vector<NamedWeights>& modules, const Averaging& how) {
  try {
    prepare(modules, how);
    buckets_->begin(session_.world_size(), how.samples);
    auto& order = trained_modules_.back().order;
    BucketSchedule schedule(buckets_->pieces_of_parameters(), order);
    fill_stream_.reset();
    if (how.backward) average_during(how.backward, schedule);
    average_remaining(schedule);
    if (device_collective_) device_collective_->queue_wait();
    const std::uint32_t requests = buckets_->finish();
    order = BucketSchedule::next_order(std::move(order), buckets_->values_per_piece());
    if (device_collective_) wait_for_device(how.return_early);
    session_.take_sums(buckets_->extra_numbers().first<Session::kNumbers>());
    session_.agree(requests);
  } catch (...) {
    give_up();
    throw;
  }
}

void Averager::prepare(const std::vector<NamedWeights>& modules, const Averaging& how) {
  const NamedWeights trained = join_weights(modules);
  const c10::Device parameters_on = device_of(trained);
  const c10::Device device = how.over_host || must_sum_on_host_ ? c10::kCPU : parameters_on;
  if (!rank_group_ || program_group_ || (!device.is_cpu() && device != device_)) connect(trained, device);
  auto layout = bucket_layout_for(must_sum_on_host_ ? c10::kCPU : device, how);
  for (const NamedWeights& weights : modules) layout.module_sizes.push_back(weights.size());
  if (layout.sum_in_half_precision && how.samples) {
    refuse(
        "average_gradients() was given samples and sum_in_half_precision: a gradient times the number "
        "of samples may be too large for half precision; leave out one of the two options");
  }
  move_entry_to_end(trained, layout);
  buckets_ = trained_modules_.back().buckets;
}

// A program may train several modules in turn. The weights of the first modules are compared between ranks in
// connect(). The weights of each later module are compared when a call uses them for the first time.
void Averager::move_entry_to_end(const NamedWeights& weights, const GradientBuckets::Layout& layout) {
  constexpr std::size_t kEntries = 8;
  // A program that makes more and more parameters trainable passes another list from time to time. The
  // buckets of a list that it passes no longer would fill the accelerator's memory.
  constexpr std::uint64_t kCallsMax = 64;
  ++call_count_;
  std::vector<at::Tensor> parameters = tensors_of(weights);
  const auto known = std::ranges::find_if(
      trained_modules_, [&](const TrainedModules& entry) { return entry.buckets->fits(parameters, layout); });
  if (known != trained_modules_.end()) {
    known->last_call = call_count_;
    std::rotate(known, known + 1, trained_modules_.end());
    return;
  }
  std::erase_if(trained_modules_,
                [&](const TrainedModules& entry) { return call_count_ - entry.last_call > kCallsMax; });
  if (trained_modules_.size() == kEntries) trained_modules_.erase(trained_modules_.begin());
  auto buckets = std::make_shared<GradientBuckets>(std::move(parameters), Session::kNumbers, layout);
  auto order = BucketSchedule::first_order(buckets->pieces().size());
  trained_modules_.push_back({weights, std::move(buckets), std::move(order), call_count_});
  if (trained_modules_.size() > 1) compare_weights();
}

void Averager::connect(const NamedWeights& trained, c10::Device device) {
  const auto given = std::exchange(program_group_, nullptr);
  if (given) check_group_ranks(session_, *given);
  if (given && (device.is_cpu() || given->getBackendName() == "gloo")) {
    must_sum_on_host_ = true;
    rank_group_.emplace(session_, fingerprint_weights(trained), given);
    return;
  }
  if (!rank_group_) rank_group_.emplace(session_, fingerprint_weights(trained));
  if (device.is_cpu()) return;
  // The sums of an earlier call (return_early) may still run on the other device.
  if (device_collective_) finish_sums(session_, *device_collective_);
  device_collective_ =
      given ? std::make_shared<GroupCollective>(given, abort_group, GroupCollective::AbortKind::kLong)
            : make_device_collective(device, session_, *rank_group_);
  device_ = device;
}

// Throws an error if the weights differ between ranks, because a run could not resume correctly from a
// checkpoint of such weights.
void Averager::compare_weights() {
  if (!rank_group_ || !rank_group_->collective()) return;
  if (device_collective_) finish_sums(session_, *device_collective_);
  NamedWeights all;
  std::set<const at::TensorImpl*> known;
  for (const TrainedModules& entry : trained_modules_)
    for (const auto& named : entry.weights)
      if (named.second.requires_grad() && known.insert(named.second.unsafeGetTensorImpl()).second)
        all.push_back(named);
  rank_group_->compare_weights_again(fingerprint_weights(all));
}

void Averager::begin(std::size_t piece) {
  buckets_->fill(piece);
  const at::Tensor& sums = buckets_->pieces()[piece];
  if (!sums.is_cpu())
    device_collective_->begin_sum(sums);
  else if (rank_group_->collective())  // a world of one has none
    rank_group_->collective()->begin_sum(sums);
}

// A program may compute gradients on several streams of the accelerator, and one bucket may contain gradients
// of several streams. If the next gradient is on another stream than the previous one, its stream waits until
// the previous stream has written its gradients to the buckets.
void Averager::fill_gradient(std::size_t parameter) {
  if (device_collective_) {
    const c10::Stream now = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    if (fill_stream_ && *fill_stream_ != now) {
      c10::Event filled(device_.type());
      filled.record(*fill_stream_);
      filled.block(now);
    }
    fill_stream_ = now;
  }
  buckets_->fill_gradient(parameter);
}

void Averager::average_during(const std::function<void()>& backward, BucketSchedule& schedule) {
  const GradientWatch watch(buckets_->parameters(), [&](std::size_t parameter) {
    session_.check();
    if (!schedule.mark_ready(parameter)) {
      refuse("parameter " + std::to_string(parameter) +
             " received a gradient twice while gradients were averaged: call backward() once within "
             "average_gradients(), and other backward() calls outside");
    }
    fill_gradient(parameter);
    while (schedule.is_next_piece_ready()) begin(schedule.take_next_piece());
  });
  watch.run_backward(backward);
}

void Averager::average_remaining(BucketSchedule& schedule) {
  const auto waits = session_.in(Phase::kCollective);
  buckets_->write_control_word(session_.requests());
  std::ranges::copy(session_.numbers(), buckets_->extra_numbers().begin());
  if (session_.rank() == 0)
    schedule.write_completion_order(buckets_->values_per_piece());
  else
    std::ranges::fill(buckets_->values_per_piece(), 0.0F);
  while (schedule.has_pieces_left()) begin(schedule.take_next_piece());
  if (rank_group_->collective()) finish_sums(session_, *rank_group_->collective());
}

// Waits until the device has finished all sums, unless `returns_early` is true and no sum has failed so far.
// Without `returns_early`, the program updates the weights only after all sums have ended, because a sum that
// still runs may be aborted.
void Averager::wait_for_device(bool returns_early) {
  if (returns_early && !device_collective_->error()) return;
  const auto waits = session_.in(Phase::kCollective);
  finish_sums(session_, *device_collective_);
}

// Keeps the memory of the gradients until all sums over the ranks have ended, because a running sum may still
// write into it. Sums over a process group of the program end only at the timeout of that group.
void Averager::give_up() {
  struct AbandonedWork {
    std::vector<TrainedModules> modules;
    std::shared_ptr<Collective> host;
    std::shared_ptr<Collective> device;
  };
  for (const TrainedModules& entry : trained_modules_) entry.buckets->release_gradients();
  buckets_ = nullptr;
  const auto work = std::make_shared<AbandonedWork>(
      AbandonedWork{std::exchange(trained_modules_, {}), rank_group_ ? rank_group_->collective() : nullptr,
                    std::move(device_collective_)});
  rank_group_.reset();
  device_ = c10::kCPU;
  must_sum_on_host_ = false;
  // Abort first: a collective without sums counts as over, and would be destroyed here, after its abort.
  abort(work->host);
  abort(work->device);
  keep_until_done(work, [r = work.get()] { return is_over(r->host) && is_over(r->device); });
  if (!work->device) return;
  wait_until_stopped(*work->device);
  // NCCL may destroy its remaining objects while the next attempt already runs. The memory of the buckets is
  // freed only if no sum on the host can still write into it.
  if (!work->host || work->host->has_stopped()) work->modules.clear();
}

}  // namespace ratoon
