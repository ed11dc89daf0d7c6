// One rank's end of a world.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <nccl.h>

#include "tests/support/nccl_stand_in/collective_work.h"
#include "tests/support/nccl_stand_in/connect_ranks.h"

namespace ratoon::test::nccl_stand_in {

struct CommunicatorPlan {
  WorldPlan world;
  Listener listener{};  // rank 0's
  bool is_blocking = true;
};

struct Task {  // what an API call asks of the communicator's own thread
  bool connects = false;
  bool finalizes = false;
  Work work{};
  void* stream = nullptr;
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  explicit Communicator(CommunicatorPlan plan);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] const WorldPlan& world() const { return plan_.world; }
  [[nodiscard]] bool is_blocking() const { return plan_.is_blocking; }

  // ncclSuccess if a call may be made now, else what the call returns.
  [[nodiscard]] ncclResult_t check_ready();
  void post(Task task);
  // ncclInProgress, or on a blocking communicator the result of the tasks.
  [[nodiscard]] ncclResult_t result_of_posted();
  [[nodiscard]] ncclResult_t async_error();

  // Waits until all tasks are done; false if it was aborted instead. After that, ends the thread.
  [[nodiscard]] bool destroy();
  // Ends running work, and waits until it has ended.
  void abort();

  [[nodiscard]] ncclRedOp_t keep_factor(ncclDataType_t type, const Factor& factor);
  [[nodiscard]] bool drop_factor(ncclRedOp_t op);
  [[nodiscard]] std::optional<Factor> factor_of(ncclRedOp_t op, ncclDataType_t type);

  // On the stream.
  void run(const Work& work, std::uint64_t turn);

 private:
  using Lock = std::unique_lock<std::mutex>;

  void do_tasks();
  void connect();
  void finalize();
  void enqueue(const Task& task);
  void note_problem(ncclResult_t result, std::string words);
  void note_loss(const std::string& problem);
  void wait_for_abort();
  void fill_result(const Work& work, std::uint64_t turn) const;
  void end_thread();

  CommunicatorPlan plan_;
  const AbortSignal signal_;
  Links links_;  // the thread's until it is connected, then that of the collective whose turn it is

  std::mutex mutex_;
  std::condition_variable changed_;
  // All members below are guarded by mutex_.
  std::deque<Task> tasks_;
  bool has_task_in_hand_ = false;
  bool is_finalized_ = false;
  bool is_aborted_ = false;
  bool is_ending_ = false;
  ncclResult_t error_ = ncclSuccess;
  std::uint64_t enqueued_ = 0;
  std::uint64_t turn_ = 0;    // of the collective that runs or comes next
  std::uint64_t inside_ = 0;  // collectives that their streams have begun and not ended
  std::map<int, std::pair<ncclDataType_t, Factor>> factors_;
  int next_factor_ = ncclNumOps;
  bool has_thread_ = true;

  std::thread thread_;
};

}  // namespace ratoon::test::nccl_stand_in
