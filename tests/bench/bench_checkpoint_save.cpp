// The cost of a save: the time for which training is blocked, the time until the checkpoint is durable, and
// the slowdown of a step loop while the checkpoint is written. Each figure is measured in turn with its
// limit: one memcpy() of the state by one thread, or the disk written in order past the page cache, and
// synced.
//
// RATOON_BENCH_FOLDER (the place of the files), RATOON_BENCH_MIB (of state, 1024).
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/pack/header/pack_checksums.h"
#include "agent/src/checkpoint/saver/background_checksums.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "tests/bench/peak.h"

namespace {

using namespace ratoon;
using namespace ratoon::checkpoint;

constexpr std::size_t kTensors = 98;
constexpr std::size_t kWriteBytes = 64 << 20;  // at once, by the limit: more is no faster
constexpr auto kPatience = std::chrono::minutes(10);
constexpr int kRounds = 5;
constexpr const char* kMemoryFolder = "/dev/shm";

std::size_t state_bytes() {
  const char* const text = std::getenv("RATOON_BENCH_MIB");
  return (text == nullptr ? 1024 : std::strtoull(text, nullptr, 10)) << 20;
}

std::filesystem::path folder_in(const std::filesystem::path& above) {
  return above / "ratoon-bench-save";
}
std::filesystem::path folder() {
  const char* const text = std::getenv("RATOON_BENCH_FOLDER");
  return folder_in(text == nullptr ? std::filesystem::temp_directory_path() : std::filesystem::path(text));
}

double seconds_of(const std::function<void()>& act) {
  const auto began = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Touched pages of this process, from the beginning of a page.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(bytes),
        at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
                   0)) {
    if (at_ == MAP_FAILED) std::abort();
  }
  ~Memory() { ::munmap(at_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  std::size_t bytes_;
  void* at_;
};

// A model of 98 tensors of one size.
struct State {
  State() : memory(state_bytes()), target(state_bytes()) {
    const auto bytes = memory.bytes();
    std::uint64_t mark = 1;
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      mark = mark * 6364136223846793005 + 1442695040888963407;
      std::memcpy(&bytes[i], &mark, 8);
    }
    const std::size_t share = bytes.size() / kTensors / 8 * 8;
    for (std::size_t i = 0; i < kTensors; ++i)
      views.push_back(
          {.name = "layer." + std::to_string(i), .shape = {share}, .bytes = bytes.subspan(i * share, share)});
  }
  void change() { memory.bytes()[0] ^= std::byte{1}; }

  Memory memory;
  Memory target;  // of the copies that are the limit
  std::vector<TensorView> views;
};
State& state() {
  static State one;
  return one;
}

double memcpy_seconds() {
  return seconds_of([] {
    std::memcpy(state().target.bytes().data(), state().memory.bytes().data(), state().memory.bytes().size());
  });
}

// Writes as a file system requires: room first, then large writes, then a sync.
double write_seconds(const std::filesystem::path& where, int flags) {
  std::filesystem::create_directories(where);
  const auto path = where / "limit";
  const auto bytes = state().memory.bytes();
  const double seconds = seconds_of([&] {
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | flags, 0600);
    static_cast<void>(::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes.size())));
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t written =
          ::pwrite(fd, &bytes[at], std::min(kWriteBytes, bytes.size() - at), static_cast<off_t>(at));
      if (written <= 0) std::abort();
      at += static_cast<std::size_t>(written);
    }
    if (::fsync(fd) != 0) std::abort();
    ::close(fd);
  });
  std::filesystem::remove(path);
  return seconds;
}

// Writes to the disk, past the page cache.
double disk_seconds() {
  return write_seconds(folder(), O_DIRECT);
}

// A run that saves, whose slots were touched before.
class Run {
 public:
  explicit Run(const std::filesystem::path& above, SaverOptions options = {})
      : folder_(folder_in(above) / "run") {
    saver_.emplace(
        Saver::open(RealDisk::open_folder(folder_).value(), "bench", std::make_shared<SystemClock>(), options)
            .value());
    saver_->begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
    saver_->prepare(state().memory.bytes().size() + (4 << 20));
    save_durably();
    save_durably();  // the second slot has been got by now
  }
  ~Run() {
    saver_.reset();
    std::filesystem::remove_all(folder_.parent_path());
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  SavePromise save() {
    state().change();
    return saver_->save(Step(++step_), state().views).value();
  }
  static void await(const SavePromise& ticket) {
    if (!ticket.wait(SaveLevel::kCommitted, kPatience)) std::abort();
  }
  void save_durably() {
    await(save());
    settle();
  }
  void settle() { saver_->wait_until_written(kPatience); }

 private:
  const std::filesystem::path folder_;
  std::optional<Saver> saver_;
  std::uint64_t step_ = 0;
};

// Each time is shown beside its limit in the same round: medians of both, and of their ratio.
struct Beside {
  std::vector<double> own;
  std::vector<double> limit;
  void add(double seconds, double limit_seconds) {
    own.push_back(seconds);
    limit.push_back(limit_seconds);
  }
  void report(benchmark::State& to, const std::string& limit_name) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(own[i] / limit[i]);
    to.counters["bytes"] = static_cast<double>(state().memory.bytes().size());
    to.counters[limit_name + "_seconds"] = median_of(limit);
    to.counters["times_" + limit_name] = median_of(ratios);
    to.counters["share_of_" + limit_name] = 1 / median_of(ratios);
  }
};

// The time from the call until the checkpoint is committed: pack, receipt and manifest survive a power cut.
void durable_save(benchmark::State& to) {
  Run run(folder().parent_path());
  Beside beside;
  for (auto _ : to) {
    const double limit = disk_seconds();
    ::sync();
    const double seconds = seconds_of([&] { run.await(run.save()); });
    run.settle();
    beside.add(seconds, limit);
    to.SetIterationTime(seconds);
  }
  beside.report(to, "disk");
}

// The memory that saving takes: two slots and all other buffers.
void blocked(benchmark::State& to, const SaverOptions& options) {
  static_cast<void>(state());  // it is there before the peak is looked for
  const bench::Peak peak;
  Run run(folder().parent_path(), options);
  Beside beside;
  for (auto _ : to) {
    const double limit = memcpy_seconds();
    std::optional<SavePromise> ticket;
    const double seconds = seconds_of([&] { ticket = run.save(); });
    run.await(*ticket);
    run.settle();
    beside.add(seconds, limit);
    to.SetIterationTime(seconds);
  }
  beside.report(to, "memcpy");
  peak.report_above(to);
}

// A step uses the processor alone: 100 copies of 64 KiB within the cache, as peer_checkpoint_save.py makes
// them.
constexpr std::size_t kStepBytes = 64 << 10;

double steps_seconds(int count) {
  static std::vector<std::byte> here(kStepBytes, std::byte{1});
  static std::vector<std::byte> there(kStepBytes);
  return seconds_of([count] {
    for (int i = 0; i < count * 100; ++i) {
      std::memcpy(there.data(), here.data(), kStepBytes);
      benchmark::DoNotOptimize(there.data());
      benchmark::ClobberMemory();
    }
  });
}

// A step loop that runs for as long as the save takes, and half as long again.
void blocked_and_slowdown(benchmark::State& to) {
  Run run(folder().parent_path());
  const double save_seconds = seconds_of([&] { run.save_durably(); });
  const int steps = static_cast<int>(std::max(1.0, 1.5 * save_seconds / steps_seconds(200) * 200));
  Beside beside;
  for (auto _ : to) {
    const double limit = memcpy_seconds();
    ::sync();
    const double quiet = steps_seconds(steps);
    std::optional<SavePromise> ticket;
    const double all = seconds_of([&] {
      ticket = run.save();
      benchmark::DoNotOptimize(steps_seconds(steps));
    });
    run.await(*ticket);
    run.settle();
    beside.add(std::max(all - quiet, 1e-9), limit);
    to.SetIterationTime(std::max(all - quiet, 1e-9));
  }
  beside.report(to, "memcpy");
}

// A pack with its sums into new memory, from the tensors: beside one memcpy(), and beside the same bytes
// written without sums, since most of the time is spent on making pages.
void new_file_in_memory(benchmark::State& to) {
  const auto where = folder_in(kMemoryFolder);
  auto disk = RealDisk::open_folder(where).value();
  Beside beside;
  Beside beside_write;
  std::uint64_t step = 0;
  for (auto _ : to) {
    const CheckpointId id{.attempt = Attempt(1), .step = Step(++step)};
    const double limit = memcpy_seconds();
    const double bare = write_seconds(where, 0);
    const double seconds = seconds_of([&] {
      if (!write_pack(*disk, id, Rank(0), state().views, "bench")) std::abort();
    });
    if (!disk->remove(pack_path(id, Rank(0)))) std::abort();
    beside.add(seconds, limit);
    beside_write.add(seconds, bare);
    to.SetIterationTime(seconds);
  }
  std::filesystem::remove_all(where);
  beside.report(to, "memcpy");
  beside_write.report(to, "bare_write");
}

// The same sums, and the copy into a slot in memory that was used before: one after the other, which is the
// longest time for both. A saver's writer makes the sums later, beside training.
void recycled_slot(benchmark::State& to) {
  Run run(folder().parent_path(), {.slots_folder = kMemoryFolder, .slot_file_prefix = "ratoon-bench"});
  const PackImageLayout image = lay_out_image(state().views).value();
  std::vector<std::span<const std::byte>> parts;
  for (const std::size_t i : image.order) parts.push_back(state().views[i].bytes);
  Beside beside;
  for (auto _ : to) {
    const double limit = memcpy_seconds();
    std::optional<SavePromise> ticket;
    const double copied = seconds_of([&] { ticket = run.save(); });
    run.await(*ticket);
    run.settle();
    const double summed = seconds_of([&] {
      PackChecksums sums(image.layout);
      BackgroundChecksums(sums, parts).finish();
      benchmark::DoNotOptimize(sums.hashes().data());
    });
    beside.add(copied + summed, limit);
    to.SetIterationTime(copied + summed);
  }
  beside.report(to, "memcpy");
}

void rounds_of(benchmark::internal::Benchmark* one) {
  one->UseManualTime()->Iterations(kRounds)->Unit(benchmark::kSecond);
}

}  // namespace

int main(int argc, char** argv) {
  rounds_of(benchmark::RegisterBenchmark("save/durable", durable_save));
  rounds_of(benchmark::RegisterBenchmark("save/blocked", [](auto& to) { blocked(to, {}); }));
  rounds_of(benchmark::RegisterBenchmark("save/blocked_slots_in_memory_folder", [](auto& to) {
    blocked(to, {.slots_folder = kMemoryFolder, .slot_file_prefix = "ratoon-bench"});
  }));
  rounds_of(benchmark::RegisterBenchmark("save/blocked_and_slowdown", blocked_and_slowdown));
  rounds_of(benchmark::RegisterBenchmark("save/new_file_in_memory", new_file_in_memory));
  rounds_of(benchmark::RegisterBenchmark("save/recycled_slot_with_sums", recycled_slot));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(folder());
  return 0;
}
