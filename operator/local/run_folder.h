// The folder of a local run, and the only place that knows its file names.
//
//   <folder>/lock           held while a runner lives: a second one is refused
//   <folder>/status.json    the TrainingJob with its status, and where its members run; mode 0600
//   <folder>/token          what members show to the coordinator; mode 0600
//   <folder>/logs/<member>.log
//   <folder>/checkpoints/<run name>/...
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

class RunFolder {
 public:
  // Creates it where it is missing and takes the lock.
  [[nodiscard]] static Result<RunFolder> open(std::filesystem::path folder);

  // What the last runner left, or nothing. The spec may have changed since; another job's folder is refused.
  [[nodiscard]] Result<std::optional<api::TrainingJobStatus>> read_status(const api::TrainingJob& job) const;
  [[nodiscard]] Result<void> write_status(const nlohmann::json& document) const;
  [[nodiscard]] Result<void> write_token(const std::string& token) const;

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] std::filesystem::path token_path() const { return folder_ / "token"; }
  [[nodiscard]] std::filesystem::path status_path() const { return folder_ / "status.json"; }
  [[nodiscard]] std::filesystem::path checkpoints_path() const { return folder_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path log_path(const std::string& member) const;

 private:
  RunFolder(std::filesystem::path folder, UniqueFd lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  UniqueFd lock_;
};

}  // namespace ratoon::local
