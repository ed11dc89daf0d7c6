// operator/local/folder/: the files and the console output of a local run. RunFolder: the run's folder on the
// disk. Only run_folder.h and run_folder.cpp contain the names of the files in a run's folder.
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
  // Creates the run's folder if it is missing, and takes the folder's lock.
  [[nodiscard]] static Result<RunFolder> open(std::filesystem::path folder);

  // Returns whether a `ratoon run` holds the folder's lock. If the folder is missing, returns false.
  [[nodiscard]] static bool is_in_use(const std::filesystem::path& folder);
  // Returns the content of the folder's status.json (of any job), or nothing if the file is missing.
  [[nodiscard]] static Result<std::optional<nlohmann::json>> read_document(
      const std::filesystem::path& folder);

  // Returns the status that the last run of `job` stored, or nothing. The job's spec may have changed since
  // the last run. Refuses the folder of another job.
  [[nodiscard]] Result<std::optional<api::TrainingJobStatus>> read_status(const api::TrainingJob& job) const;
  // Moves the files of earlier runs to before/<time>/ and returns that path; deletes nothing. Calls
  // `store_fresh_status` before it moves the first file, so that the run starts over even if moving is
  // interrupted.
  [[nodiscard]] Result<std::filesystem::path> archive_old_files(
      WallTime now, const std::function<Result<void>()>& store_fresh_status) const;
  [[nodiscard]] Result<void> write_status(const nlohmann::json& document) const;
  [[nodiscard]] Result<void> write_token(const std::string& token) const;
  // Returns the identity (UID) of this folder's job: the first run in the folder draws it, and later runs
  // keep it. If the folder is a copy, the run draws a new identity.
  [[nodiscard]] Result<std::string> job_uid() const;
  // Opens the log of a member that starts, to append to it. Creates the folder logs/ again if it was removed
  // during the run.
  [[nodiscard]] Result<UniqueFd> open_log(const std::string& member) const;
  // Appends a line to events.jsonl. Drops the line after an error: a gap in the history must not end a run.
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

// Returns a name for a run's resources outside of its folder, for example in /dev/shm. The returned name
// depends only on the folder's path.
[[nodiscard]] std::string run_resource_name(const std::filesystem::path& run_folder);

}  // namespace ratoon::local
