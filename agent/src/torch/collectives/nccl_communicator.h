// NcclCommunicator: one rank's end of a communicator of NCCL, by NCCL's own C interface. No call waits for a
// peer: connecting and each sum go on by themselves, and is_ready() says whether they do. Knows nothing of
// LibTorch.
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

// What NCCL refused. The code is an ncclResult_t.
class NcclError : public std::runtime_error {
 public:
  NcclError(int result, const std::string& sentence) : std::runtime_error(sentence), code(result) {}
  // The call was wrong, and not the network or a rank.
  [[nodiscard]] bool is_refusal() const;
  int code;
};

enum class NcclNumbers { kFloat, kDouble, kHalf, kBfloat16, kUint8 };

class NcclCommunicator {
 public:
  static constexpr std::size_t kIdBytes = 128;
  using Id = std::array<std::uint8_t, kIdBytes>;
  // Rank 0 makes it, and all ranks are given it.
  [[nodiscard]] static Id make_id();

  // Begins to connect, on the device that is current in this thread.
  NcclCommunicator(const Id& id, std::uint32_t rank, std::uint32_t size);
  // Aborts, unless it was closed.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Nothing is under way that another call would have to wait for. Throws what failed since it was asked
  // last, a lost peer included.
  [[nodiscard]] bool is_ready();
  // In place, on a stream of CUDA's; is_ready() before and after.
  void begin_sum(void* numbers, std::size_t count, NcclNumbers type, void* stream);

  // Ends what runs, from any thread. May block for as long as NCCL does. Nothing can be called afterwards.
  void abort() noexcept;
  // All sums are complete: begins to close it, on all ranks. is_ready() says when it may be destroyed.
  void begin_to_close();

 private:
  void check_open() const;

  std::mutex mutex_;
  ncclComm* comm_ = nullptr;  // guarded by mutex_; null: aborted
  bool is_closing_ = false;   // guarded by mutex_
};

}  // namespace ratoon
