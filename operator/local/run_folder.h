// The folder of a local run, and the only place that knows its file names.
//
//   <folder>/lock           held while a runner lives: a second one is refused
//   <folder>/status.json    the TrainingJob with its status, and where its members run; mode 0600
//   <folder>/events.jsonl   what happened in all lives of the run: run_events.h
//   <folder>/uid            the identity of the job, drawn by the first run; mode 0600
//   <folder>/token          what members show to the coordinator; mode 0600
//   <folder>/logs/<member>.log
//   <folder>/checkpoints/<run name>/...
//   <folder>/control        the socket by which its owner speaks to the runner; mode 0600
//   <folder>/before/<time>/ what was there when a run was begun afresh
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
  // Creates it where it is missing and takes the lock.
  [[nodiscard]] static Result<RunFolder> open(std::filesystem::path folder);

  // Whether a runner is at work in it. Creates nothing; a folder that is not there has none.
  [[nodiscard]] static bool is_in_use(const std::filesystem::path& folder);
  // status.json as it stands, whoever wrote it; nothing where it is missing.
  [[nodiscard]] static Result<std::optional<nlohmann::json>> read_document(
      const std::filesystem::path& folder);

  // What the last runner left, or nothing. The spec may have changed since; another job's folder is refused.
  [[nodiscard]] Result<std::optional<api::TrainingJobStatus>> read_status(const api::TrainingJob& job) const;
  // Moves all that the runs before left to before/<time>/, and says where that is; nothing is deleted.
  // `store_fresh_status` is called before anything is out of its place: once it has, nothing older counts,
  // and a move that is cut off changes nothing about that.
  [[nodiscard]] Result<std::filesystem::path> set_aside(
      WallTime now, const std::function<Result<void>()>& store_fresh_status) const;
  [[nodiscard]] Result<void> write_status(const nlohmann::json& document) const;
  [[nodiscard]] Result<void> write_token(const std::string& token) const;
  // The identity of the job of this folder: drawn by the first run in it, and kept. In a copy of the folder
  // it is drawn anew.
  [[nodiscard]] Result<std::string> job_uid() const;
  // A folder of logs that was removed while the run goes on is made again; that it cannot be, a member's
  // start says.
  void make_logs() const;
  // A line that cannot be written is left out: a run does not end for the account of it.
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

// What a run has outside of its folder, in memory say, is called by this name: of the folder's path alone.
[[nodiscard]] std::string name_outside(const std::filesystem::path& run_folder);

}  // namespace ratoon::local
