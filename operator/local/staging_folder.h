// Where members of a local run stage what they save: a folder in memory that outlives them, as a
// memory-backed volume does on a cluster.
#pragma once

#include <filesystem>
#include <utility>

#include <ratoon/result.h>

namespace ratoon::local {

class StagingFolder {
 public:
  static constexpr const char* kMemoryRoot = "/dev/shm";

  // The same folder for each run in `run_folder`, so that the next one finds what was staged. Nobody else may
  // look into it. An error where this machine has no such place.
  [[nodiscard]] static Result<StagingFolder> open(const std::filesystem::path& memory_root,
                                                  const std::filesystem::path& run_folder);
  // For a run that goes on with nothing: what is staged there is of one that was set aside, or removed.
  [[nodiscard]] static Result<void> discard(const std::filesystem::path& memory_root,
                                            const std::filesystem::path& run_folder);
  // Processes that end well give their memory back; where all did, the folder goes too.
  ~StagingFolder();
  StagingFolder(StagingFolder&& other) noexcept;
  StagingFolder& operator=(StagingFolder&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit StagingFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace ratoon::local
