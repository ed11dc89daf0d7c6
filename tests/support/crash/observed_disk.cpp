#include "tests/support/crash/observed_disk.h"

namespace ratoon::test {
namespace {

template <class Act>
auto observed(const DiskObserver& observer, DiskCall call, const std::string& path, const Act& act) {
  observer(call, path, Moment::kBefore);
  auto result = act();
  observer(call, path, Moment::kAfter);
  return result;
}

class ObservedWriteFile : public checkpoint::WriteFile {
 public:
  ObservedWriteFile(std::unique_ptr<checkpoint::WriteFile> file, const DiskObserver& observer,
                    std::string path)
      : file_(std::move(file)), observer_(observer), path_(std::move(path)) {}

  Result<void> reserve(std::uint64_t bytes) override {
    return observed(observer_, DiskCall::kReserve, path_, [&] { return file_->reserve(bytes); });
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    const std::size_t half = bytes.size() / 2;
    return observed(observer_, DiskCall::kWrite, path_, [&]() -> Result<void> {
      if (auto written = file_->write(at, bytes.first(half)); !written) return written;
      observer_(DiskCall::kWrite, path_, Moment::kAmid);
      return file_->write(at + half, bytes.subspan(half));
    });
  }
  Result<void> sync() override {
    return observed(observer_, DiskCall::kSync, path_, [&] { return file_->sync(); });
  }
  Result<void> close() override {
    return observed(observer_, DiskCall::kClose, path_, [&] { return file_->close(); });
  }

 private:
  const std::unique_ptr<checkpoint::WriteFile> file_;
  const DiskObserver& observer_;
  const std::string path_;
};

class ObservedReadFile : public checkpoint::ReadFile {
 public:
  ObservedReadFile(std::unique_ptr<checkpoint::ReadFile> file, const DiskObserver& observer, std::string path)
      : file_(std::move(file)), observer_(observer), path_(std::move(path)) {}

  Result<std::uint64_t> size() const override { return file_->size(); }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    return observed(observer_, DiskCall::kRead, path_, [&] { return file_->read(at, bytes); });
  }
  void drop_from_page_cache() const override { file_->drop_from_page_cache(); }

 private:
  const std::unique_ptr<checkpoint::ReadFile> file_;
  const DiskObserver& observer_;
  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<checkpoint::WriteFile>> ObservedDisk::create(const std::string& path) {
  auto file = observed(observer_, DiskCall::kCreate, path, [&] { return disk_->create(path); });
  if (!file) return file.error();
  return std::unique_ptr<checkpoint::WriteFile>(
      std::make_unique<ObservedWriteFile>(*std::move(file), observer_, path));
}

Result<std::unique_ptr<checkpoint::ReadFile>> ObservedDisk::open(const std::string& path) const {
  auto file = observed(observer_, DiskCall::kOpen, path, [&] { return disk_->open(path); });
  if (!file) return file.error();
  return std::unique_ptr<checkpoint::ReadFile>(
      std::make_unique<ObservedReadFile>(*std::move(file), observer_, path));
}

Result<void> ObservedDisk::rename_no_replace(const std::string& from, const std::string& to) {
  return observed(observer_, DiskCall::kRename, to, [&] { return disk_->rename_no_replace(from, to); });
}

Result<void> ObservedDisk::remove(const std::string& path) {
  return observed(observer_, DiskCall::kRemove, path, [&] { return disk_->remove(path); });
}

Result<void> ObservedDisk::remove_folder(const std::string& path) {
  return observed(observer_, DiskCall::kRemove, path, [&] { return disk_->remove_folder(path); });
}

Result<void> ObservedDisk::make_folder(const std::string& path) {
  return observed(observer_, DiskCall::kMakeFolder, path, [&] { return disk_->make_folder(path); });
}

Result<void> ObservedDisk::sync_folder(const std::string& path) {
  return observed(observer_, DiskCall::kSyncFolder, path, [&] { return disk_->sync_folder(path); });
}

Result<std::vector<checkpoint::DiskEntry>> ObservedDisk::list(const std::string& path) const {
  return observed(observer_, DiskCall::kList, path, [&] { return disk_->list(path); });
}

}  // namespace ratoon::test
