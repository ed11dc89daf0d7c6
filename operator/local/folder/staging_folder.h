// The folder in memory (/dev/shm) where a local run's members stage checkpoints. The folder outlives the
// members, like a memory-backed volume on a cluster.
#pragma once

#include <filesystem>
#include <utility>

#include <ratoon/result.h>

namespace ratoon::local {

class StagingFolder {
 public:
  static constexpr const char* kMemoryRoot = "/dev/shm";

  // Returns the same folder for all runs in `run_folder`, so that the next run finds the staged checkpoints.
  // Other users cannot read the folder. Returns an error if this machine has no /dev/shm (`memory_root`).
  [[nodiscard]] static Result<StagingFolder> open(const std::filesystem::path& memory_root,
                                                  const std::filesystem::path& run_folder);
  // Removes staged checkpoints. Call discard() when a run starts over, because the staged checkpoints then
  // belong to an earlier run.
  [[nodiscard]] static Result<void> discard(const std::filesystem::path& memory_root,
                                            const std::filesystem::path& run_folder);
  // Removes the folder if it is empty. The folder is empty after all processes have completed and removed
  // their own files.
  ~StagingFolder();
  StagingFolder(StagingFolder&& other) noexcept;
  StagingFolder& operator=(StagingFolder&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit StagingFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace ratoon::local
