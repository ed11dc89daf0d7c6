// Cgroups: limits of members that the kernel enforces, without special privileges. The cgroups are below this
// process's own cgroup, if it may create children there. Each limited member has its own cgroup.
//
//   <own>/ratoon-run-<hash of the run's folder>/<member>
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

class Cgroups {
 public:
  Cgroups() = default;  // enforces no limits

  // Prepares cgroups for members with limits of the given kinds. Cgroups of an earlier run in the same
  // folder, whose runner was killed, are ended and removed first: the lock of the folder shows that they have
  // no owner. `root` contains /proc and /sys.
  [[nodiscard]] static Cgroups open(const std::filesystem::path& root,
                                    const std::filesystem::path& run_folder,
                                    const std::vector<std::string_view>& controllers);
  // Removes all cgroups of the run, and kills processes that are left in them.
  ~Cgroups();
  Cgroups(Cgroups&& other) noexcept { swap(other); }
  Cgroups& operator=(Cgroups&& other) noexcept {
    swap(other);
    return *this;
  }

  // Returns a sentence for each kind of limit that is not enforced here.
  [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }

  // Returns the command that runs `command` within the member's limits, if they are enforced. `variables`
  // (NAME=VALUE) are the complete environment of the command.
  [[nodiscard]] Result<std::vector<std::string>> confine(
      const std::string& member, const api::ResourceLimits& limits, std::vector<std::string> command,
      const std::vector<std::string>& variables = {}) const;
  // Whether the kernel killed a process of the member at its memory limit.
  [[nodiscard]] bool was_out_of_memory(const std::string& member) const;
  // Records that the member has ended. Processes that the member left behind are killed.
  void remove(const std::string& member);

 private:
  struct Branch {
    std::string_view controller;
    std::filesystem::path folder;  // of the run
    bool is_unified = false;
  };

  void swap(Cgroups& other) noexcept;
  [[nodiscard]] Result<Branch> make_branch(std::string_view controller, const std::filesystem::path& root,
                                           const std::string& name);
  [[nodiscard]] Result<void> move_to_child(const std::filesystem::path& own, std::string_view controller);

  std::vector<Branch> branches_;
  std::vector<std::string> refusals_;
  // For version 2: the cgroup that this process left for a child, to enable controllers there.
  std::filesystem::path left_;
};

}  // namespace ratoon::local
