// torch/collectives/nccl/: Sums by NCCL.
//
// NcclCollective: sums tensors of one accelerator over all ranks with NCCL, on a stream of its own.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "agent/src/torch/collectives/collective.h"
#include "agent/src/torch/collectives/nccl/device_collectives.h"
#include "agent/src/torch/collectives/nccl/nccl_communicator.h"
#include "agent/src/torch/collectives/nccl/side_stream.h"

namespace ratoon {

class NcclCollective final : public Collective {
 public:
  // Begins to connect. While a function of this object waits for NCCL, it calls `look` each millisecond.
  // `look` may throw to end the wait.
  NcclCollective(c10::Device device, const NcclCommunicator::Id& id, std::uint32_t rank, std::uint32_t size,
                 std::function<void()> look);
  // Aborts the communicator and waits for NCCL, unless the communicator was closed.
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
  void record_error(const NcclError& error);

  SideStream stream_;
  std::function<void()> look_;
  NcclCommunicator communicator_;
  std::vector<at::Tensor> pieces_;   // of sums that may still run
  bool has_unawaited_sums_ = false;  // whether there are sums that were not waited for
  bool is_starting_sum_ = false;     // whether a sum is being begun, which may be queued after the mark
  bool has_completed_ = false;       // whether a sum has completed
  bool is_closed_ = false;
  std::exception_ptr error_;
  // A separate thread destroys the communicator, because NCCL takes about a second to do so.
  std::thread abort_thread_;
  std::atomic<bool> has_aborted_ = false;
};

// Makes an NcclCollective. For CUDA, make_nccl_collective() is passed to register_device_collective().
[[nodiscard]] std::unique_ptr<Collective> make_nccl_collective(const DeviceCollectivePlan& plan);

}  // namespace ratoon
