// NcclCommunicator is one rank's handle of an NCCL communicator, over NCCL's C interface. No call waits for a
// peer, because NCCL connects and sums in the background; is_ready() says whether it is done.
// NcclCommunicator does not use LibTorch.
//
//   NcclCommunicator communicator(id, rank, size);
//   while (!communicator.is_ready()) sleep();            // throws NcclError
//   communicator.begin_sum(numbers, count, NcclNumbers::kFloat, stream);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

struct ncclComm;

namespace ratoon {

// An error of NCCL, whose code is an ncclResult_t.
class NcclError : public std::runtime_error {
 public:
  NcclError(int result, const std::string& sentence) : std::runtime_error(sentence), code(result) {}
  // Returns whether NCCL refused the call as wrong; if it did not, the network or a rank failed.
  [[nodiscard]] bool is_refusal() const;
  int code;
};

enum class NcclNumbers { kFloat, kDouble, kHalf, kBfloat16, kUint8 };

class NcclCommunicator {
 public:
  static constexpr std::size_t kIdBytes = 128;
  using Id = std::array<std::uint8_t, kIdBytes>;
  // Rank 0 creates the id and gives it to all ranks.
  [[nodiscard]] static Id make_id();

  // Begins to connect the current device of this thread to the other ranks.
  NcclCommunicator(const Id& id, std::uint32_t rank, std::uint32_t size);
  // Aborts the communicator, unless it was closed.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Returns whether NCCL has finished the last call (connecting, a sum, closing), so that the next call need
  // not wait. Throws an error that came since the last call, such as a lost peer.
  [[nodiscard]] bool is_ready();
  // Sums in place, on a CUDA stream; is_ready() must be true before begin_sum(), and is polled after it.
  void begin_sum(void* numbers, std::size_t count, NcclNumbers type, void* stream);

  // Ends running operations, from any thread. abort() may block for as long as NCCL does. After abort(), call
  // no other function.
  void abort() noexcept;
  // Begins to close the communicator. All ranks call begin_to_close() after all sums are complete. When
  // is_ready() is true, the communicator may be destroyed.
  void begin_to_close();

 private:
  void check_open() const;

  std::mutex mutex_;
  ncclComm* comm_ = nullptr;  // guarded by mutex_; null: aborted
  bool is_closing_ = false;   // guarded by mutex_
};

}  // namespace ratoon
