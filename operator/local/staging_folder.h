// Where members of a local run stage what they save: a folder in memory that outlives them, as a
// memory-backed volume does on a cluster. The run's own folder where this machine has no such place.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::local {

class StagingFolder {
 public:
  static constexpr const char* kMemoryRoot = "/dev/shm";

  // The same folder for each run in `run_folder`, so that the next one finds what was staged. Nobody else may
  // look into it.
  [[nodiscard]] static Result<StagingFolder> open(const std::filesystem::path& memory_root,
                                                  const std::filesystem::path& run_folder);
  // Processes that end well give their memory back; where all did, the folder goes too.
  ~StagingFolder();
  StagingFolder(StagingFolder&& other) noexcept;
  StagingFolder& operator=(StagingFolder&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // A sentence for people, or nothing.
  [[nodiscard]] const std::string& why_not_in_memory() const { return why_not_in_memory_; }

 private:
  StagingFolder(std::filesystem::path path, std::string why)
      : path_(std::move(path)), why_not_in_memory_(std::move(why)) {}

  std::filesystem::path path_;
  std::string why_not_in_memory_;
};

}  // namespace ratoon::local
