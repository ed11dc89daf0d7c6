#include "agent/src/torch/collectives/nccl/nccl_collective.h"

#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <ratoon/failure.h>
#include <ratoon/torch/nccl.h>

#include "agent/src/session/telemetry/say.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

using Clock = std::chrono::steady_clock;

NcclElementType nccl_type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return NcclElementType::kFloat;
    case at::kDouble:
      return NcclElementType::kDouble;
    case at::kHalf:
      return NcclElementType::kHalf;
    case at::kBFloat16:
      return NcclElementType::kBfloat16;
    case at::kByte:
      return NcclElementType::kUint8;
    default:
      throw Failure(static_cast<int>(ExitCode::kConfiguration),
                    std::string("gradients of type ") + c10::toString(type) +
                        " cannot be summed over NCCL: use another type, or over_host in average_gradients()");
  }
}

[[noreturn]] void refuse(const NcclError& error) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                std::string(error.what()) +
                    "; set NCCL_DEBUG=WARN for details; ranks that share a device need over_host in "
                    "average_gradients()");
}

// Calls `is_done` until it returns true. The first calls have no pauses between them, so that the end of a
// short sum is noticed at once. Later calls have pauses that are short compared with a long sum. Calls `look`
// each millisecond; an exception of `look` ends the wait.
void poll(const std::function<bool()>& is_done, const std::function<void()>& look) {
  constexpr auto kEager = std::chrono::microseconds(200);
  constexpr auto kPause = std::chrono::microseconds(20);
  constexpr auto kPollInterval = std::chrono::milliseconds(1);
  const auto began = Clock::now();
  auto looked = began;
  while (!is_done()) {
    const auto now = Clock::now();
    if (now - looked >= kPollInterval) {
      look();
      looked = now;
    }
    if (now - began >= kEager) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

// Each attempt makes one NCCL collective. After most errors of NCCL a new process is started, because the
// cause may be temporary.
std::unique_ptr<Collective> make_nccl_collective(const DeviceCollectivePlan& plan) {
  const auto versions = nccl_versions();
  const auto fits = versions ? check_nccl(*versions) : versions.error();
  if (!fits) throw Failure(static_cast<int>(ExitCode::kConfiguration), fits.error().message());
  try {
    NcclCommunicator::Id id{};
    if (plan.rank == 0) id = NcclCommunicator::make_id();
    plan.broadcast_from_rank_0(id);
    return std::make_unique<NcclCollective>(plan.device, id, plan.rank, plan.world_size, plan.look);
  } catch (const NcclError& error) {
    if (error.is_usage_error()) refuse(error);
    throw Failure(
        static_cast<int>(ExitCode::kStartAgain),
        std::string(error.what()) +
            "; the process starts again: check that NCCL_SOCKET_IFNAME names a network that all ranks share");
  }
}

NcclCollective::NcclCollective(c10::Device device, const NcclCommunicator::Id& id, std::uint32_t rank,
                               std::uint32_t size, std::function<void()> look)
    : stream_(device), look_(std::move(look)), communicator_([&] {
        const c10::DeviceGuard guard(device);
        return NcclCommunicator(id, rank, size);
      }()) {}

NcclCollective::~NcclCollective() {
  if (!is_closed_) abort();
  if (abort_thread_.joinable()) abort_thread_.join();
}

bool NcclCollective::close() {
  constexpr auto kPatience = std::chrono::seconds(5);
  if (error_ || abort_thread_.joinable()) return false;
  const c10::DeviceGuard guard(stream_.device());
  const auto deadline = Clock::now() + kPatience;
  try {
    communicator_.begin_close();
    poll([&] { return communicator_.is_ready() || Clock::now() >= deadline; }, [] {});
    is_closed_ = communicator_.is_ready();
  } catch (const NcclError&) {  // a rank is lost
  }
  return is_closed_;
}

void NcclCollective::wait_until_ready(const std::function<void()>& look) {
  poll([&] { return communicator_.is_ready(); }, look);
}

// Keeps the error for error(), because a sum also fails if another rank is lost. If NCCL refuses a call as
// wrong before the first sum, ends the run, because NCCL would also refuse the call in a new process.
void NcclCollective::record_error(const NcclError& error) {
  if (error.is_usage_error() && !has_completed_) refuse(error);
  if (!error_) error_ = std::current_exception();
}

void NcclCollective::begin_sum(const at::Tensor& piece) {
  if (error_) return;
  const c10::DeviceGuard guard(stream_.device());
  if (has_unawaited_sums_ && !is_starting_sum_ && stream_.is_marked_work_done()) pieces_.clear();
  stream_.wait_for_current_stream();
  pieces_.push_back(piece);
  has_unawaited_sums_ = true;
  try {
    wait_until_ready(look_);
    is_starting_sum_ = true;
    communicator_.begin_sum(piece.mutable_data_ptr(), static_cast<std::size_t>(piece.numel()),
                            nccl_type_of(piece.scalar_type()), stream_.handle());
    wait_until_ready(look_);
    stream_.mark();
    is_starting_sum_ = false;
  } catch (const NcclError& error) {
    record_error(error);
  }
}

void NcclCollective::queue_wait() {
  if (!has_unawaited_sums_) return;
  const c10::DeviceGuard guard(stream_.device());
  stream_.make_current_stream_wait();
}

void NcclCollective::wait(const std::function<void()>& look) {
  if (!has_unawaited_sums_ || error_) return;
  try {
    poll([&] { return stream_.is_marked_work_done(); },
         [&] {
           static_cast<void>(communicator_.is_ready());
           look();
         });
    static_cast<void>(communicator_.is_ready());  // detects a failed kernel, which ends as others do
  } catch (const NcclError& error) {
    record_error(error);
    return;
  }
  pieces_.clear();
  has_unawaited_sums_ = false;
  has_completed_ = true;
}

void NcclCollective::abort() {
  if (abort_thread_.joinable()) return;
  abort_thread_ = std::thread([this] {
    try {
      const c10::DeviceGuard guard(stream_.device());
      communicator_.abort();
      has_aborted_ = true;
    } catch (const std::exception& error) {
      // The device is broken. The collective counts as running until the process ends.
      session::say(std::string("sums on the accelerator could not be aborted: ") + error.what());
    }
  });
}

// If NCCL is aborted within begin_sum(), it is unknown whether the sum was queued. In this case, the sums
// have stopped only when the whole stream is idle.
bool NcclCollective::has_stopped() {
  if (!has_unawaited_sums_) return true;
  const bool has = is_starting_sum_ ? has_aborted_ && stream_.is_idle() : stream_.is_marked_work_done();
  if (has) pieces_.clear();
  return has;
}

bool NcclCollective::is_over() {
  return has_stopped() && (!abort_thread_.joinable() || has_aborted_);
}

namespace {

const bool is_registered = register_device_collective(c10::DeviceType::CUDA, make_nccl_collective);

}  // namespace

// Programs call no function of this file directly. Without this symbol, which the link command names, the
// linker would leave out the file and its static registration.
extern "C" bool ratoon_nccl_is_linked() {
  return is_registered;
}

}  // namespace ratoon
