#include "tests/support/nccl_of_threads.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <nccl.h>

#include "tests/support/accelerator/stream.h"

namespace {

using ratoon::test::accelerator::Stream;

struct Sum {
  std::vector<void*> numbers;
  int arrived = 0;
  bool is_done = false;
};

struct World {
  explicit World(int ranks) : size(ranks) {}

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;                       // guarded by mutex
  std::map<std::uint64_t, Sum> sums{};  // guarded by mutex
};

struct Faults {
  std::atomic<bool> is_rank_lost = false;
  std::atomic<bool> refuses = false;
  std::atomic<bool> is_old = false;
  std::atomic<int> abort_ms = 0;
};

Faults faults;
std::atomic<int> open_count = 0;
std::mutex worlds_mutex;
std::map<std::uint64_t, std::weak_ptr<World>> worlds;  // guarded by worlds_mutex

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclFloat64 ? 8 : 4;
}

template <class T>
void add_up(const std::vector<void*>& numbers, std::size_t count) {
  std::vector<T> sums(count);
  for (void* const of_rank : numbers)
    for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<const T*>(of_rank)[i];
  // Bytes that arrive too late to be read are overwritten.
  std::this_thread::sleep_for(std::chrono::microseconds(300));
  for (void* const of_rank : numbers) std::memcpy(of_rank, sums.data(), count * sizeof(T));
}

struct Communicator {
  Communicator(std::shared_ptr<World> of, int as_rank) : world(std::move(of)), rank(as_rank) { ++open_count; }
  ~Communicator() { --open_count; }

  const std::shared_ptr<World> world;
  const int rank;
  std::uint64_t sums = 0;
  int running = 0;          // guarded by the world's mutex
  bool is_aborted = false;  // guarded by the world's mutex

  void wait_until_idle() {
    std::unique_lock lock(world->mutex);
    world->changed.wait(lock, [&] { return running == 0; });
  }

  // Runs on the stream's thread.
  void take_part(std::uint64_t number, void* numbers, std::size_t count, ncclDataType_t type) {
    std::unique_lock lock(world->mutex);
    Sum& sum = world->sums[number];
    sum.numbers.resize(static_cast<std::size_t>(world->size));
    sum.numbers[static_cast<std::size_t>(rank)] = numbers;
    if (!is_aborted && ++sum.arrived == world->size) {
      type == ncclFloat64 ? add_up<double>(sum.numbers, count) : add_up<float>(sum.numbers, count);
      sum.is_done = true;
      world->changed.notify_all();
    }
    world->changed.wait(lock, [&] { return sum.is_done || is_aborted; });
    if (!sum.is_done) std::memset(numbers, 0xff, count * bytes_of(type));  // no number
    --running;
    world->changed.notify_all();
  }
};

// The types that NCCL's header only declares.
Communicator& of(ncclComm_t comm) {
  return *reinterpret_cast<Communicator*>(comm);
}

}  // namespace

namespace ratoon::test::nccl {

void lose_a_rank() {
  faults.is_rank_lost = true;
}

void refuse_ranks() {
  faults.refuses = true;
}

void become_older() {
  faults.is_old = true;
}

void set_milliseconds_of_abort(int milliseconds) {
  faults.abort_ms = milliseconds;
}

void reset() {
  faults.is_rank_lost = false;
  faults.refuses = false;
  faults.is_old = false;
  faults.abort_ms = 0;
}

int open_communicators() {
  return open_count;
}

}  // namespace ratoon::test::nccl

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : result == ncclRemoteError ? "remote error" : "error";
}

const char* ncclGetLastError(ncclComm_t /*comm*/) {
  return "";
}

ncclResult_t ncclGetVersion(int* version) {
  *version = faults.is_old ? NCCL_VERSION_CODE - 1 : NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<std::uint64_t> next = 1;
  const std::uint64_t number = next++;
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidArgument;
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  std::shared_ptr<World> world;
  {
    const std::scoped_lock lock(worlds_mutex);
    world = worlds[number].lock();
    if (!world) worlds[number] = world = std::make_shared<World>(size);
  }
  *comm = reinterpret_cast<ncclComm_t>(std::make_unique<Communicator>(world, rank).release());
  const std::scoped_lock lock(world->mutex);
  ++world->joined;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const std::scoped_lock lock(of(comm).world->mutex);
  *state = faults.refuses                                  ? ncclInvalidUsage
           : faults.is_rank_lost                           ? ncclRemoteError
           : of(comm).world->joined < of(comm).world->size ? ncclInProgress
                                                           : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (from != to || op != ncclSum) return ncclInvalidArgument;
  {
    const std::scoped_lock lock(of(comm).world->mutex);
    ++of(comm).running;
  }
  const std::uint64_t number = of(comm).sums++;
  reinterpret_cast<Stream*>(stream)->enqueue(
      [comm, number, to, count, type] { of(comm).take_part(number, to, count, type); });
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t /*comm*/) {
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::unique_ptr<Communicator> gone(&of(comm));
  gone->wait_until_idle();
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::unique_ptr<Communicator> gone(&of(comm));
  {
    const std::scoped_lock lock(of(comm).world->mutex);
    of(comm).is_aborted = true;
    of(comm).world->changed.notify_all();
  }
  of(comm).wait_until_idle();
  std::this_thread::sleep_for(std::chrono::milliseconds(faults.abort_ms.load()));
  return ncclSuccess;
}

}  // extern "C"
