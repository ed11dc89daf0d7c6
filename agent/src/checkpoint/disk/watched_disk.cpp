#include "agent/src/checkpoint/disk/watched_disk.h"

#include <utility>

namespace ratoon::checkpoint {
namespace {

class WatchedWriteFile : public WriteFile {
 public:
  WatchedWriteFile(std::unique_ptr<WriteFile> file, std::shared_ptr<CallTimer> watch)
      : file_(std::move(file)), watch_(std::move(watch)) {}

  Result<void> reserve(std::uint64_t bytes) override {
    return (*watch_)([&] { return file_->reserve(bytes); });
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    return (*watch_)([&] { return file_->write(at, bytes); });
  }
  Result<void> write_borrowed(std::uint64_t at, std::span<const std::byte> bytes) override {
    return (*watch_)([&] { return file_->write_borrowed(at, bytes); });
  }
  bool lends_without_copy() const override { return file_->lends_without_copy(); }
  Result<void> sync() override {
    return (*watch_)([&] { return file_->sync(); });
  }
  Result<void> close() override {
    return (*watch_)([&] { return file_->close(); });
  }

 private:
  const std::unique_ptr<WriteFile> file_;
  const std::shared_ptr<CallTimer> watch_;
};

class WatchedReadFile : public ReadFile {
 public:
  WatchedReadFile(std::unique_ptr<ReadFile> file, std::shared_ptr<CallTimer> watch)
      : file_(std::move(file)), watch_(std::move(watch)) {}

  Result<std::uint64_t> size() const override {
    return (*watch_)([&] { return file_->size(); });
  }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    return (*watch_)([&] { return file_->read(at, bytes); });
  }
  bool read_from_page_cache(std::uint64_t at, std::span<std::byte> bytes) const override {
    return file_->read_from_page_cache(at, bytes);
  }
  Result<void> read_directly(std::uint64_t at, const ReadBuffer& room, std::uint64_t count) const override {
    return (*watch_)([&] { return file_->read_directly(at, room, count); });
  }
  void drop_from_page_cache() const override { file_->drop_from_page_cache(); }
  void start_read_ahead(std::uint64_t at, std::uint64_t bytes) const override {
    file_->start_read_ahead(at, bytes);
  }

 private:
  const std::unique_ptr<ReadFile> file_;
  const std::shared_ptr<CallTimer> watch_;
};

class WatchedDisk : public Disk {
 public:
  WatchedDisk(std::shared_ptr<Disk> disk, std::shared_ptr<CallTimer> watch)
      : disk_(std::move(disk)), watch_(std::move(watch)) {}

  std::string shown(std::string_view path) const override { return disk_->shown(path); }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    auto file = (*watch_)([&] { return disk_->create(path); });
    if (!file) return file;
    return std::unique_ptr<WriteFile>(std::make_unique<WatchedWriteFile>(*std::move(file), watch_));
  }
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override {
    auto file = (*watch_)([&] { return disk_->open(path); });
    if (!file) return file;
    return std::unique_ptr<ReadFile>(std::make_unique<WatchedReadFile>(*std::move(file), watch_));
  }
  Result<void> rename_no_replace(const std::string& from, const std::string& to) override {
    return (*watch_)([&] { return disk_->rename_no_replace(from, to); });
  }
  Result<void> remove(const std::string& path) override {
    return (*watch_)([&] { return disk_->remove(path); });
  }
  Result<void> remove_folder(const std::string& path) override {
    return (*watch_)([&] { return disk_->remove_folder(path); });
  }
  Result<void> make_folder(const std::string& path) override {
    return (*watch_)([&] { return disk_->make_folder(path); });
  }
  Result<void> sync_folder(const std::string& path) override {
    return (*watch_)([&] { return disk_->sync_folder(path); });
  }
  Result<std::vector<DiskEntry>> list(const std::string& path) const override {
    return (*watch_)([&] { return disk_->list(path); });
  }

 private:
  const std::shared_ptr<Disk> disk_;
  const std::shared_ptr<CallTimer> watch_;
};

}  // namespace

std::shared_ptr<Disk> watch_disk(std::shared_ptr<Disk> disk, std::shared_ptr<CallTimer> watch) {
  return std::make_shared<WatchedDisk>(std::move(disk), std::move(watch));
}

}  // namespace ratoon::checkpoint
