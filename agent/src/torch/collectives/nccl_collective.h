// NcclCollective: sums over NCCL, on a stream of its own, of what lies on one accelerator.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "agent/src/torch/collectives/collective.h"
#include "agent/src/torch/collectives/device_collectives.h"
#include "agent/src/torch/collectives/nccl_communicator.h"
#include "agent/src/torch/collectives/side_stream.h"

namespace ratoon {

class NcclCollective final : public Collective {
 public:
  // Begins to connect. `look` is called each millisecond while a call waits for NCCL to connect, and may
  // throw.
  NcclCollective(c10::Device device, const NcclCommunicator::Id& id, std::uint32_t rank, std::uint32_t size,
                 std::function<void()> look);
  // Aborts, and waits for NCCL, unless it was closed.
  ~NcclCollective() override;

  void begin_sum(const at::Tensor& piece) override;
  void queue_wait() override;
  void wait(const std::function<void()>& look) override;
  [[nodiscard]] std::exception_ptr error() override { return error_; }
  [[nodiscard]] bool close() override;
  void abort() override;
  [[nodiscard]] bool has_stopped() override;
  [[nodiscard]] bool is_over() override;

 private:
  void wait_until_ready(const std::function<void()>& look);
  void note_error(const NcclError& error);

  SideStream stream_;
  std::function<void()> look_;
  NcclCommunicator communicator_;
  std::vector<at::Tensor> pieces_;  // of sums that may still run
  bool has_sums_ = false;           // that were not waited for
  bool is_beginning_ = false;       // a sum, which may be queued behind the mark
  bool has_completed_ = false;      // a sum, once
  bool is_closed_ = false;
  std::exception_ptr error_;
  // NCCL takes a second to take a communicator apart, and is not waited for.
  std::thread aborting_;
  std::atomic<bool> has_aborted_ = false;
};

// For register_device_collective(); CUDA's is registered.
[[nodiscard]] std::unique_ptr<Collective> make_nccl_collective(const DeviceCollectivePlan& plan);

}  // namespace ratoon
