// A disk that fails to read the files whose paths begin with a prefix, as one with bad sectors does.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/support/crash/observed_disk.h"

namespace ratoon::checkpoint::test {

class UnreadableClaims final : public ratoon::test::ObservedDisk {
 public:
  UnreadableClaims(std::shared_ptr<Disk> disk, std::string prefix)
      : ObservedDisk(std::move(disk),
                     [](ratoon::test::DiskCall, const std::string&, ratoon::test::Moment) {}),
        prefix_(std::move(prefix)) {}

  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override {
    if (!path.starts_with(prefix_)) return ObservedDisk::open(path);
    return Error(ErrorKind::kIo, "a bad sector");
  }

 private:
  const std::string prefix_;
};

}  // namespace ratoon::checkpoint::test
