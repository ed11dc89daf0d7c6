#include "agent/src/checkpoint/load/carry_out.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/load/on_threads.h"
#include "agent/src/checkpoint/load/piece.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kThreadsMax = 8;
// While as many as there are processors check and copy, these have the disk at work.
constexpr std::size_t kThreadsThatWait = 2;
// How far ahead of what is read the disk is told what comes next, where the system can keep it.
constexpr std::uint64_t kExpectedBytes = 2 * kExtentBytesMax;
// Pages around less than this would be much beside it.
constexpr std::uint64_t kDirectBytesMin = 128 * 1024;
// Ranks' shares are not quite equal.
constexpr double kSharesMax = 1.1;

// Of all threads together; a checkpoint may have more packs than a process may have files open.
constexpr std::size_t kOpenFilesMax = 60;

// The packs that one thread has open: those that it needed last.
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t files_max) : files_max_(files_max) {}

  // It is open until the next call.
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

// What one thread has.
struct Hand {
  OpenFiles files;
  ReadRoom room{};  // for one piece after the other
};

std::size_t files_of_a_thread(std::size_t threads) {
  return std::max<std::size_t>(1, kOpenFilesMax / std::max<std::size_t>(1, threads));
}

class Execution {
 public:
  Execution(const Disk& disk, std::span<const PlannedPack> packs, const ReadPlan& plan,
            std::span<const std::span<std::byte>> destinations, ReadWay way, const ReadOptions& options)
      : disk_(disk), packs_(packs), plan_(plan), destinations_(destinations), way_(way) {
    const std::size_t threads = options.thread_count();
    for (std::size_t i = 0; i < threads; ++i)
      hands_.push_back({.files = OpenFiles(files_of_a_thread(threads))});
    for (const auto& reads : plan.packs) {
      for (const auto& extent : reads.extents) cut(reads, extent, options.bytes_at_once);
    }
    ahead_ = std::max<std::size_t>(1, kExpectedBytes / std::max<std::uint64_t>(1, options.bytes_at_once));
  }

  Result<void> run() {
    return on_threads(tasks_.size(), hands_.size(), [this](std::size_t i, std::size_t thread) {
      if (way_ == ReadWay::kByPageCache) expect_after(i, hands_[thread]);
      return read(tasks_[i], hands_[thread]);
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

  Result<const ReadFile*> file_of(std::uint32_t pack, Hand& hand) const {
    return hand.files.find(disk_, pack, packs_[pack].path);
  }

  // The disk is at work on what comes next while this is checked and copied. What goes wrong is told by the
  // read itself.
  void expect_after(std::size_t i, Hand& hand) const {
    const std::size_t first = i == 0 ? 1 : i + ahead_;
    for (std::size_t next = first; next <= i + ahead_ && next < tasks_.size(); ++next) {
      const Task& task = tasks_[next];
      if (const auto file = file_of(task.reads->pack, hand))
        (*file)->expect(place_of(task), task.piece.end - task.piece.begin);
    }
  }

  Result<void> read(const Task& task, Hand& hand) const {
    const auto file = file_of(task.reads->pack, hand);
    if (!file) return file.error();
    std::span<const std::byte> bytes;
    const auto got = read_twice(
        [&]() -> Result<void> {
          const auto read = read_piece(**file, task, hand.room);
          if (!read) return read.error();
          bytes = *read;
          return verify(task, bytes);
        },
        [&] { (*file)->forget(); });
    if (!got) return got;
    copy_extent(plan_, *task.reads, task.piece, bytes, destinations_);
    return {};
  }

  // Its bytes, which lie in the room.
  Result<std::span<const std::byte>> read_piece(const ReadFile& file, const Task& task,
                                                ReadRoom& room) const {
    const std::uint64_t begin = place_of(task);
    const std::uint64_t bytes = task.piece.end - task.piece.begin;
    const bool is_direct = way_ == ReadWay::kDirect && bytes >= kDirectBytesMin;
    // Whole pages of the file, or the disk cannot put them there itself.
    const std::uint64_t head = is_direct ? begin % kDirectAlignment : 0;
    if (room.bytes().size() < head + bytes) room = ReadRoom::of(head + bytes);
    const auto wanted = room.bytes().subspan(head, bytes);
    if (!is_direct) {
      if (auto read = file.read(begin, wanted); !read) return read.error();
    } else if (!file.read_remembered(begin, wanted)) {
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
  const ReadWay way_;
  std::size_t ahead_ = 0;  // pieces that the disk is told of
  std::vector<Hand> hands_;
  std::vector<Task> tasks_;  // pieces, as they lie on the disk
};

}  // namespace

std::size_t ReadOptions::thread_count() const {
  if (threads != 0) return threads;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax) + kThreadsThatWait;
}

ReadWay choose_way(std::uint64_t bytes_wanted, std::uint64_t bytes_there, std::uint32_t readers) {
  const double by_all = static_cast<double>(bytes_wanted) * readers;
  return by_all <= kSharesMax * static_cast<double>(bytes_there) ? ReadWay::kDirect : ReadWay::kByPageCache;
}

Result<void> carry_out(const Disk& disk, std::span<const PlannedPack> packs, const ReadPlan& plan,
                       std::span<const std::span<std::byte>> destinations, ReadWay way,
                       const ReadOptions& options) {
  return Execution(disk, packs, plan, destinations, way, options).run();
}

}  // namespace ratoon::checkpoint
