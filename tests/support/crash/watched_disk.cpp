#include "tests/support/crash/watched_disk.h"

namespace ratoon::test {
namespace {

template <class Act>
auto watched(const DiskWatch& watch, DiskCall call, const std::string& path, const Act& act) {
  watch(call, path, Moment::kBefore);
  auto result = act();
  watch(call, path, Moment::kAfter);
  return result;
}

class WatchedWriteFile : public checkpoint::WriteFile {
 public:
  WatchedWriteFile(std::unique_ptr<checkpoint::WriteFile> file, const DiskWatch& watch, std::string path)
      : file_(std::move(file)), watch_(watch), path_(std::move(path)) {}

  Result<void> reserve(std::uint64_t bytes) override {
    return watched(watch_, DiskCall::kReserve, path_, [&] { return file_->reserve(bytes); });
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    const std::size_t half = bytes.size() / 2;
    return watched(watch_, DiskCall::kWrite, path_, [&]() -> Result<void> {
      if (auto written = file_->write(at, bytes.first(half)); !written) return written;
      watch_(DiskCall::kWrite, path_, Moment::kAmid);
      return file_->write(at + half, bytes.subspan(half));
    });
  }
  Result<void> sync() override {
    return watched(watch_, DiskCall::kSync, path_, [&] { return file_->sync(); });
  }
  Result<void> close() override {
    return watched(watch_, DiskCall::kClose, path_, [&] { return file_->close(); });
  }

 private:
  const std::unique_ptr<checkpoint::WriteFile> file_;
  const DiskWatch& watch_;
  const std::string path_;
};

class WatchedReadFile : public checkpoint::ReadFile {
 public:
  WatchedReadFile(std::unique_ptr<checkpoint::ReadFile> file, const DiskWatch& watch, std::string path)
      : file_(std::move(file)), watch_(watch), path_(std::move(path)) {}

  Result<std::uint64_t> size() const override { return file_->size(); }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    return watched(watch_, DiskCall::kRead, path_, [&] { return file_->read(at, bytes); });
  }
  void forget() const override { file_->forget(); }

 private:
  const std::unique_ptr<checkpoint::ReadFile> file_;
  const DiskWatch& watch_;
  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<checkpoint::WriteFile>> WatchedDisk::create(const std::string& path) {
  auto file = watched(watch_, DiskCall::kCreate, path, [&] { return disk_->create(path); });
  if (!file) return file.error();
  return std::unique_ptr<checkpoint::WriteFile>(
      std::make_unique<WatchedWriteFile>(*std::move(file), watch_, path));
}

Result<std::unique_ptr<checkpoint::ReadFile>> WatchedDisk::open(const std::string& path) const {
  auto file = watched(watch_, DiskCall::kOpen, path, [&] { return disk_->open(path); });
  if (!file) return file.error();
  return std::unique_ptr<checkpoint::ReadFile>(
      std::make_unique<WatchedReadFile>(*std::move(file), watch_, path));
}

Result<void> WatchedDisk::rename_new(const std::string& from, const std::string& to) {
  return watched(watch_, DiskCall::kRename, to, [&] { return disk_->rename_new(from, to); });
}

Result<void> WatchedDisk::remove(const std::string& path) {
  return watched(watch_, DiskCall::kRemove, path, [&] { return disk_->remove(path); });
}

Result<void> WatchedDisk::remove_folder(const std::string& path) {
  return watched(watch_, DiskCall::kRemove, path, [&] { return disk_->remove_folder(path); });
}

Result<void> WatchedDisk::make_folder(const std::string& path) {
  return watched(watch_, DiskCall::kMakeFolder, path, [&] { return disk_->make_folder(path); });
}

Result<void> WatchedDisk::sync_folder(const std::string& path) {
  return watched(watch_, DiskCall::kSyncFolder, path, [&] { return disk_->sync_folder(path); });
}

Result<std::vector<checkpoint::DiskEntry>> WatchedDisk::list(const std::string& path) const {
  return watched(watch_, DiskCall::kList, path, [&] { return disk_->list(path); });
}

}  // namespace ratoon::test
