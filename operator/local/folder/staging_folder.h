// The staging folder of a local run's members: a folder in memory that outlives them, like a memory-backed
// volume on a cluster.
#pragma once

#include <filesystem>
#include <utility>

#include <ratoon/result.h>

namespace ratoon::local {

class StagingFolder {
 public:
  static constexpr const char* kMemoryRoot = "/dev/shm";

  // Returns the same folder for all runs in `run_folder`, so that the next run finds the staged checkpoints.
  // Other users cannot read the folder. Returns an error if this machine has no such place.
  [[nodiscard]] static Result<StagingFolder> open(const std::filesystem::path& memory_root,
                                                  const std::filesystem::path& run_folder);
  // For a run that continues no earlier run: staged checkpoints belong to a run that was set aside or
  // removed.
  [[nodiscard]] static Result<void> discard(const std::filesystem::path& memory_root,
                                            const std::filesystem::path& run_folder);
  // Processes that complete free their memory. If all processes have completed, this call removes the folder.
  ~StagingFolder();
  StagingFolder(StagingFolder&& other) noexcept;
  StagingFolder& operator=(StagingFolder&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit StagingFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace ratoon::local
