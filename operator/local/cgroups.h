// Cgroups: members of a run held to their limits by the kernel, without asking anybody: below the cgroup that
// this process is in, where it may make some. Each limited member has one of its own.
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
  Cgroups() = default;  // holds nobody to anything

  // For members with limits of those kinds. What a run in the same folder left, whose runner was killed, is
  // ended and removed first: the folder's lock says that it has no owner. `root` is where /proc and /sys are.
  [[nodiscard]] static Cgroups open(const std::filesystem::path& root,
                                    const std::filesystem::path& run_folder,
                                    const std::vector<std::string_view>& controllers);
  // Removes all of it, and ends what still lives there.
  ~Cgroups();
  Cgroups(Cgroups&& other) noexcept { swap(other); }
  Cgroups& operator=(Cgroups&& other) noexcept {
    swap(other);
    return *this;
  }

  // A sentence for each kind of limit that is not enforced here.
  [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }

  // The command that runs `command` within the member's limits, as far as they are enforced. `variables`, as
  // NAME=VALUE, are all that it is started with.
  [[nodiscard]] Result<std::vector<std::string>> confine(
      const std::string& member, const api::Limits& limits, std::vector<std::string> command,
      const std::vector<std::string>& variables = {}) const;
  // Whether the kernel ended a process of it for its memory limit.
  [[nodiscard]] bool was_out_of_memory(const std::string& member) const;
  // The member has ended. What its processes left behind ends too.
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
  [[nodiscard]] Result<void> make_room(const std::filesystem::path& own, std::string_view controller);

  std::vector<Branch> branches_;
  std::vector<std::string> refusals_;
  std::filesystem::path left_;  // version 2: the cgroup that we left for one within, so that it can give
};

}  // namespace ratoon::local
