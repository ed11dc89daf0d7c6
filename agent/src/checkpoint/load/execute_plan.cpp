#include "agent/src/checkpoint/load/execute_plan.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/load/plan_piece.h"
#include "agent/src/checkpoint/load/run_in_parallel.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kReaderThreadsMax = 8;
// The number of threads in addition to one thread per processor. The additional threads keep every processor
// busy while some threads wait for the disk.
constexpr std::size_t kExtraReaderThreads = 2;
// The number of bytes after the current read that a thread asks the system to read ahead.
constexpr std::uint64_t kPrefetchBytes = 2 * kExtentBytesMax;
// Direct reads cover whole pages. A read of less than 128 KiB is not direct, because reading the rest of its
// first and last page takes too much time.
constexpr std::uint64_t kDirectBytesMin = 128 * 1024;
// choose_read_mode() multiplies the bytes of one reader by the number of readers. The product may exceed the
// bytes in the packs by 10 %, because readers want unequal numbers of bytes.
constexpr double kDirectReadShareMax = 1.1;

// The maximum number of pack files that all threads together keep open: a checkpoint may have more packs than
// a process may open files.
constexpr std::size_t kOpenFilesMax = 60;

// The pack files that one thread keeps open: the pack files that it has used most recently.
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t files_max) : files_max_(files_max) {}

  // The returned file stays open until find() is called again.
  Result<const ReadFile*> find(const Disk& disk, std::uint32_t pack, const std::string& path) {
    const auto known = std::ranges::find(files_, pack, [](const auto& one) { return one.first; });
    if (known != files_.end()) {
      std::rotate(known, known + 1, files_.end());
      return files_.back().second.get();
    }
    if (files_.size() == files_max_) files_.erase(files_.begin());
    auto file = disk.open(path);
    if (!file) return file.error();
    files_.emplace_back(pack, *std::move(file));
    return files_.back().second.get();
  }

 private:
  std::size_t files_max_;
  std::vector<std::pair<std::uint32_t, std::unique_ptr<ReadFile>>> files_;  // the newest is the last
};

// The state of one of the threads that execute a read plan.
struct ReaderThread {
  OpenFiles files;
  ReadBuffer room{};  // holds one piece at a time
};

std::size_t open_files_per_thread(std::size_t threads) {
  return std::max<std::size_t>(1, kOpenFilesMax / std::max<std::size_t>(1, threads));
}

class PlanExecutor {
 public:
  PlanExecutor(const Disk& disk, std::span<const PlannedPack> packs, const ReadPlan& plan,
               std::span<const std::span<std::byte>> destinations, ReadMode way, const ReadOptions& options)
      : disk_(disk), packs_(packs), plan_(plan), destinations_(destinations), way_(way) {
    const std::size_t threads = options.thread_count();
    for (std::size_t i = 0; i < threads; ++i)
      reader_threads_.push_back({.files = OpenFiles(open_files_per_thread(threads))});
    for (const auto& reads : plan.packs) {
      for (const auto& extent : reads.extents) cut(reads, extent, options.bytes_at_once);
    }
    ahead_ = std::max<std::size_t>(1, kPrefetchBytes / std::max<std::uint64_t>(1, options.bytes_at_once));
  }

  Result<void> run() {
    return run_in_parallel(tasks_.size(), reader_threads_.size(), [this](std::size_t i, std::size_t thread) {
      if (way_ == ReadMode::kByPageCache) expect_after(i, reader_threads_[thread]);
      return read(tasks_[i], reader_threads_[thread]);
    });
  }

 private:
  struct Task {
    const PackReads* reads;
    Extent piece;
  };

  void cut(const PackReads& reads, const Extent& extent, std::uint64_t bytes_at_once) {
    const PackLayout& layout = packs_[reads.pack].header->layout;
    for (std::uint64_t begin = extent.begin; begin < extent.end;) {
      tasks_.push_back({&reads, cut_piece(layout, reads, extent, begin, bytes_at_once)});
      begin = tasks_.back().piece.end;
    }
  }

  std::uint64_t place_of(const Task& task) const {
    return packs_[task.reads->pack].header->layout.header_bytes + task.piece.begin;
  }

  Result<const ReadFile*> file_of(std::uint32_t pack, ReaderThread& hand) const {
    return hand.files.find(disk_, pack, packs_[pack].path);
  }

  // Asks the system to read the next pieces of the file ahead, while this piece is verified and copied.
  // Errors of the request to read ahead are ignored, because the read itself reports them.
  void expect_after(std::size_t i, ReaderThread& hand) const {
    const std::size_t first = i == 0 ? 1 : i + ahead_;
    for (std::size_t next = first; next <= i + ahead_ && next < tasks_.size(); ++next) {
      const Task& task = tasks_[next];
      if (const auto file = file_of(task.reads->pack, hand))
        (*file)->start_read_ahead(place_of(task), task.piece.end - task.piece.begin);
    }
  }

  Result<void> read(const Task& task, ReaderThread& hand) const {
    const auto file = file_of(task.reads->pack, hand);
    if (!file) return file.error();
    std::span<const std::byte> bytes;
    const auto got = read_with_retry(
        [&]() -> Result<void> {
          const auto read = read_piece(**file, task, hand.room);
          if (!read) return read.error();
          bytes = *read;
          return verify(task, bytes);
        },
        [&] { (*file)->drop_from_page_cache(); });
    if (!got) return got;
    copy_extent(plan_, *task.reads, task.piece, bytes, destinations_);
    return {};
  }

  // Reads one piece of a pack file into the buffer `room` and returns its bytes.
  Result<std::span<const std::byte>> read_piece(const ReadFile& file, const Task& task,
                                                ReadBuffer& room) const {
    const std::uint64_t begin = place_of(task);
    const std::uint64_t bytes = task.piece.end - task.piece.begin;
    const bool is_direct = way_ == ReadMode::kDirect && bytes >= kDirectBytesMin;
    // A direct read (O_DIRECT) must begin at a multiple of the page size in the file.
    const std::uint64_t head = is_direct ? begin % kDirectAlignment : 0;
    if (room.bytes().size() < head + bytes) room = ReadBuffer::of(head + bytes);
    const auto wanted = room.bytes().subspan(head, bytes);
    if (!is_direct) {
      if (auto read = file.read(begin, wanted); !read) return read.error();
    } else if (!file.read_from_page_cache(begin, wanted)) {
      if (auto read = file.read_directly(begin - head, room, head + bytes); !read) return read.error();
    }
    return std::span<const std::byte>(wanted);
  }

  Result<void> verify(const Task& task, std::span<const std::byte> bytes) const {
    const PlannedPack& pack = packs_[task.reads->pack];
    if (auto verified = verify_extent(*pack.header, task.piece, bytes); !verified)
      return verified.error().with_context(disk_.shown(pack.path));
    return {};
  }

  const Disk& disk_;
  const std::span<const PlannedPack> packs_;
  const ReadPlan& plan_;
  const std::span<const std::span<std::byte>> destinations_;
  const ReadMode way_;
  std::size_t ahead_ = 0;  // pieces that the disk is asked to prefetch
  std::vector<ReaderThread> reader_threads_;
  std::vector<Task> tasks_;  // in the order of the pieces on the disk
};

}  // namespace

std::size_t ReadOptions::thread_count() const {
  if (threads != 0) return threads;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kReaderThreadsMax) +
         kExtraReaderThreads;
}

ReadMode choose_read_mode(std::uint64_t bytes_wanted, std::uint64_t bytes_there, std::uint32_t readers) {
  const double by_all = static_cast<double>(bytes_wanted) * readers;
  return by_all <= kDirectReadShareMax * static_cast<double>(bytes_there) ? ReadMode::kDirect
                                                                          : ReadMode::kByPageCache;
}

Result<void> execute_plan(const Disk& disk, std::span<const PlannedPack> packs, const ReadPlan& plan,
                          std::span<const std::span<std::byte>> destinations, ReadMode way,
                          const ReadOptions& options) {
  return PlanExecutor(disk, packs, plan, destinations, way, options).run();
}

}  // namespace ratoon::checkpoint
