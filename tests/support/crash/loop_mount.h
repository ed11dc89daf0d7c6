// LoopMount: a small file system of its own in a file, mounted where only this process sees it, whose power
// can be cut: FS_IOC_SHUTDOWN stops the kernel's file system at once, and a later mount shows the state of
// its journal and its disk.
//
// Needs root and loop devices. When the process ends in any way, the mount disappears: it is in a namespace
// of its own, and the loop device frees its file with the last user.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon::test {

enum class PowerCut {
  kLogKept,  // what the journal holds is written out first; data that was not synced is lost
  kAllLost   // as it is on the disk
};

class LoopMount {
 public:
  // `type` is "ext4" or "xfs". kUnavailable with the reason if this machine does not support it.
  [[nodiscard]] static Result<std::unique_ptr<LoopMount>> make(const std::string& type,
                                                               const std::filesystem::path& scratch);
  ~LoopMount();
  LoopMount(const LoopMount&) = delete;
  LoopMount& operator=(const LoopMount&) = delete;

  [[nodiscard]] std::filesystem::path folder() const { return mount_ / "run"; }

  // From this call on the file system refuses everything.
  [[nodiscard]] Result<void> cut_power(PowerCut how);

  // All its files must be closed.
  [[nodiscard]] Result<void> start_again();

 private:
  LoopMount(std::string type, std::filesystem::path image, std::filesystem::path mount)
      : type_(std::move(type)), image_(std::move(image)), mount_(std::move(mount)) {}
  [[nodiscard]] Result<void> attach();
  [[nodiscard]] Result<void> mount();

  const std::string type_;
  const std::filesystem::path image_;
  const std::filesystem::path mount_;
  UniqueFd loop_;
  std::string device_;
};

}  // namespace ratoon::test
