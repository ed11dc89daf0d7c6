// operator/local/folder/: the files and the console output of a local run. RunFolder: the run's folder on the
// disk. No other file contains the names of its files.
//
//   <folder>/lock           held while a runner is alive: a second one is refused
//   <folder>/status.json    the TrainingJob with its status, and the processes of its members; mode 0600
//   <folder>/events.jsonl   the history of all runs in the folder: run_events.h
//   <folder>/uid            the identity of the job, drawn by the first run; mode 0600
//   <folder>/token          the secret of members for the coordinator; mode 0600
//   <folder>/logs/<member>.log
//   <folder>/checkpoints/<run name>/...
//   <folder>/control        the socket for requests of the owner to the runner; mode 0600
//   <folder>/before/<time>/ the files of earlier runs, set aside by a run that started over
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

class RunFolder {
 public:
  // Creates the folder if it is missing, and takes the lock.
  [[nodiscard]] static Result<RunFolder> open(std::filesystem::path folder);

  // Whether a runner holds the lock. Creates nothing; the result is false for a missing folder.
  [[nodiscard]] static bool is_in_use(const std::filesystem::path& folder);
  // The content of status.json from any run; nothing if the file is missing.
  [[nodiscard]] static Result<std::optional<nlohmann::json>> read_document(
      const std::filesystem::path& folder);

  // The last runner's status, or nothing. The spec may have changed since then; the folder of another job is
  // refused.
  [[nodiscard]] Result<std::optional<api::TrainingJobStatus>> read_status(const api::TrainingJob& job) const;
  // Moves the files of earlier runs to before/<time>/ and returns that path; nothing is deleted.
  // `store_fresh_status` is called before the first move: after that the fresh status applies, even if a move
  // is interrupted.
  [[nodiscard]] Result<std::filesystem::path> set_aside(
      WallTime now, const std::function<Result<void>()>& store_fresh_status) const;
  [[nodiscard]] Result<void> write_status(const nlohmann::json& document) const;
  [[nodiscard]] Result<void> write_token(const std::string& token) const;
  // The identity of this folder's job: the first run in the folder draws it, and later runs keep it. A copy
  // of the folder gets a new identity.
  [[nodiscard]] Result<std::string> job_uid() const;
  // Creates the folder of logs again if it was removed during the run. If the creation fails, the next start
  // of a member reports it.
  void make_logs() const;
  // A line that cannot be written is dropped: a run does not end because its history is incomplete.
  void append_event(const std::string& line) const;

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] std::filesystem::path token_path() const { return folder_ / "token"; }
  [[nodiscard]] std::filesystem::path status_path() const { return folder_ / "status.json"; }
  [[nodiscard]] std::filesystem::path events_path() const { return folder_ / "events.jsonl"; }
  [[nodiscard]] std::filesystem::path checkpoints_path() const { return folder_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path log_path(const std::string& member) const;

 private:
  RunFolder(std::filesystem::path folder, UniqueFd lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  UniqueFd lock_;
};

// The name of a run's resources outside of its folder, for example in memory. The name depends only on the
// folder's path.
[[nodiscard]] std::string run_resource_name(const std::filesystem::path& run_folder);

}  // namespace ratoon::local
