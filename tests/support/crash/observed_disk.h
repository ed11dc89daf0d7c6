// ObservedDisk: another disk, and an observer that is called before and after each call, and in the middle of
// a write, when half of the bytes are in the file. The observer may kill the process, cut the power, or let
// other programs run first.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/support/crash/model_disk.h"

namespace ratoon::test {

enum class Moment { kBefore, kAmid, kAfter };
using DiskObserver = std::function<void(DiskCall call, const std::string& path, Moment moment)>;

class ObservedDisk : public checkpoint::Disk {
 public:
  ObservedDisk(std::shared_ptr<checkpoint::Disk> disk, DiskObserver observer)
      : disk_(std::move(disk)), observer_(std::move(observer)) {}

  [[nodiscard]] std::string shown(std::string_view path) const override { return disk_->shown(path); }
  [[nodiscard]] Result<std::unique_ptr<checkpoint::WriteFile>> create(const std::string& path) override;
  [[nodiscard]] Result<std::unique_ptr<checkpoint::ReadFile>> open(const std::string& path) const override;
  [[nodiscard]] Result<void> rename_no_replace(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> remove_folder(const std::string& path) override;
  [[nodiscard]] Result<void> make_folder(const std::string& path) override;
  [[nodiscard]] Result<void> sync_folder(const std::string& path) override;
  [[nodiscard]] Result<std::vector<checkpoint::DiskEntry>> list(const std::string& path) const override;

 private:
  const std::shared_ptr<checkpoint::Disk> disk_;
  const DiskObserver observer_;
};

}  // namespace ratoon::test
