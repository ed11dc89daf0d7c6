// NcclCommunicator: the part of an NCCL communicator that belongs to one rank, used through NCCL's C
// interface. No call waits for another rank, because NCCL connects and sums in the
// background; is_ready() returns whether NCCL has finished. NcclCommunicator does not use
// LibTorch.
//
//   NcclCommunicator communicator(id, rank, size);
//   while (!communicator.is_ready()) sleep();            // throws NcclError
//   communicator.begin_sum(numbers, count, NcclElementType::kFloat, stream);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/core/threads/mutex.h"

struct ncclComm;

namespace ratoon {

// NcclError is an error that NCCL reported. `code` is the ncclResult_t of the error.
class NcclError : public std::runtime_error {
 public:
  NcclError(int result, const std::string& sentence) : std::runtime_error(sentence), code(result) {}
  // Returns true if NCCL refused the call as wrong, and false if the network or another rank failed.
  [[nodiscard]] bool is_usage_error() const;
  int code;
};

enum class NcclElementType { kFloat, kDouble, kHalf, kBfloat16, kUint8 };

class NcclCommunicator {
 public:
  static constexpr std::size_t kIdBytes = 128;
  using Id = std::array<std::uint8_t, kIdBytes>;
  // Rank 0 creates the id of a communicator and sends it to all ranks.
  [[nodiscard]] static Id make_id();

  // Begins to connect the current device of this thread to the other ranks.
  NcclCommunicator(const Id& id, std::uint32_t rank, std::uint32_t size);
  // Aborts the communicator, unless begin_close() has completed.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Returns true if NCCL has completed the last call (connecting, a sum or closing), so that the next call is
  // allowed. Throws if an error has occurred since the last call, such as the loss of another rank.
  [[nodiscard]] bool is_ready();
  // Begins to sum a tensor in place over all ranks, on a CUDA stream. Call begin_sum() only if is_ready()
  // returns true, and afterwards call is_ready() until it returns true again.
  void begin_sum(void* numbers, std::size_t count, NcclElementType type, void* stream);

  // Ends all running operations. Any thread may call abort(), which may block until NCCL returns. After
  // abort(), call no other function of the communicator.
  void abort() noexcept;
  // Begins to close the communicator. All ranks must call begin_close() after all sums are complete. When
  // is_ready() returns true after begin_close(), the communicator may be destroyed.
  void begin_close();

 private:
  void check_open() const RATOON_REQUIRES(mutex_);

  Mutex mutex_;
  ncclComm* comm_ RATOON_GUARDED_BY(mutex_) = nullptr;  // null: aborted
  bool is_closing_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon
