// LoopMount: a small file system of its own in a file, mounted where only this process sees it, whose power
// can be cut for real: FS_IOC_SHUTDOWN stops the kernel's file system in its tracks, and what comes back
// after mounting it again is what its journal and its disk say.
//
// Needs root and loop devices. Whatever happens to the process, nothing of it stays: the mount is in a
// namespace of its own, and the loop device lets go of its file with the last of its users.
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
  // `type` is "ext4" or "xfs". kUnavailable with the reason where this machine cannot do it.
  [[nodiscard]] static Result<std::unique_ptr<LoopMount>> make(const std::string& type,
                                                               const std::filesystem::path& scratch);
  ~LoopMount();
  LoopMount(const LoopMount&) = delete;
  LoopMount& operator=(const LoopMount&) = delete;

  [[nodiscard]] std::filesystem::path folder() const { return mount_ / "run"; }

  // From now on the file system refuses everything.
  [[nodiscard]] Result<void> cut_power(PowerCut how);

  // With all files of it closed.
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
