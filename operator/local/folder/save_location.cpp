#include "operator/local/folder/save_location.h"

#include <algorithm>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"
#include "operator/local/folder/trainer_option.h"

namespace ratoon::local {
namespace {

// `ratoon run` sets RATOON_SAVE_FOLDER to `folders.save`, even if the container's `env` has another value.
std::string save_folder_of(const api::TrainingJob& job, const SaveFolders& folders) {
  return find_trainer_option(job, {.flag = "--save-folder", .variable = ""}).value_or(folders.save.string());
}

bool is_url(const std::string& location) {
  return location.find("://") != std::string::npos;
}

std::string relative_to_run(const std::filesystem::path& place, const SaveFolders& folders) {
  const auto within = place.lexically_relative(folders.run.lexically_normal());
  const bool is_within = !within.empty() && *within.begin() != ".." && *within.begin() != ".";
  return is_within ? within.string() : place.string();
}

}  // namespace

std::string run_name_of(const api::TrainingJob& job) {
  const auto given = find_trainer_option(job, {.flag = "--run-name", .variable = names::env::kRunName});
  return given ? *given : api::trainer_environment(job).at(names::env::kRunName);
}

std::string save_location(const api::TrainingJob& job, const SaveFolders& folders) {
  const std::string folder = save_folder_of(job, folders);
  const std::string name = run_name_of(job);
  if (is_url(folder)) return folder + (folder.ends_with('/') ? "" : "/") + name;
  return relative_to_run((folders.work / folder / name).lexically_normal(), folders);
}

std::optional<std::string> reported_save_location(const std::vector<api::ProcessFacts>& processes,
                                                  const SaveFolders& folders) {
  const auto told =
      std::ranges::find_if(processes, [](const auto& process) { return !process.save_location.empty(); });
  if (told == processes.end()) return std::nullopt;
  if (is_url(told->save_location)) return told->save_location;
  return relative_to_run(std::filesystem::path(told->save_location).lexically_normal(), folders);
}

}  // namespace ratoon::local
