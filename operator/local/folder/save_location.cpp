#include "operator/local/folder/save_location.h"

#include <optional>
#include <string_view>
#include <vector>

#include "base/contract/names.h"
#include "operator/api/trainer_environment.h"
#include "operator/api/variables.h"

namespace ratoon::local {
namespace {

// Parses the command line as the trainer does: the word after the flag or after its '='; the last occurrence
// before "--" counts.
std::optional<std::string> flag_in(const std::vector<std::string>& words, const std::string& flag) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == flag && i + 1 < words.size())
      value = words[++i];
    else if (words[i].starts_with(flag + "="))
      value = words[i].substr(flag.size() + 1);
  }
  return value;
}

std::optional<std::string> flag_of_job(const api::TrainingJob& job, const std::string& flag) {
  for (const api::Role& role : job.spec.roles)
    if (auto value = flag_in(role.command, flag))
      return api::expand_variables(*value, api::expand_environment(role.environment, {}));
  return std::nullopt;
}

std::string run_name_of(const api::TrainingJob& job) {
  if (auto said = flag_of_job(job, "--run-name")) return *said;
  for (const api::Role& role : job.spec.roles) {
    const auto environment = api::expand_environment(role.environment, {});
    const auto found = environment.find(names::env::kRunName);
    if (found != environment.end()) return found->second;
  }
  return api::trainer_environment(job).at(names::env::kRunName);
}

}  // namespace

std::string save_location(const api::TrainingJob& job, const SaveFolders& folders) {
  const std::string folder = flag_of_job(job, "--save-folder").value_or(folders.save.string());
  const std::string name = run_name_of(job);
  if (folder.find("://") != std::string::npos) return folder + (folder.ends_with('/') ? "" : "/") + name;
  const auto place = (folders.work / folder / name).lexically_normal();
  const auto within = place.lexically_relative(folders.run.lexically_normal());
  const bool is_within = !within.empty() && *within.begin() != ".." && *within.begin() != ".";
  return is_within ? within.string() : place.string();
}

}  // namespace ratoon::local
