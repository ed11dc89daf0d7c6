#include "operator/local/folder/trainer_option.h"

#include <string_view>
#include <vector>

#include "base/contract/names.h"
#include "operator/api/variables.h"

namespace ratoon::local {
namespace {

// Parses the command line as the trainer does: returns the word after the flag or after its '='. If the flag
// occurs several times, its last occurrence before a `--` counts.
std::optional<std::string> flag_value_in(const std::vector<std::string>& words, const std::string& flag) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == flag && i + 1 < words.size())
      value = words[++i];
    else if (words[i].starts_with(flag + "="))
      value = words[i].substr(flag.size() + 1);
  }
  return value;
}

// The flag with the prefix (--ratoon-seed) has priority, because --seed may be a flag of the program itself.
std::optional<std::string> prefixed_or_plain_flag_in(const std::vector<std::string>& words,
                                                     const std::string& flag) {
  if (flag.empty()) return std::nullopt;
  auto prefixed = flag_value_in(words, std::string(names::kFlagPrefix) + flag.substr(2));
  return prefixed ? prefixed : flag_value_in(words, flag);
}

}  // namespace

std::optional<std::string> find_trainer_option(const api::TrainingJob& job, const TrainerOption& option) {
  for (const api::Role& role : job.spec.roles)
    if (auto value = prefixed_or_plain_flag_in(role.command, option.flag))
      return api::expand_variables(*value, api::expand_environment(role.environment, {}));
  for (const api::Role& role : job.spec.roles) {
    const auto environment = api::expand_environment(role.environment, {});
    const auto found = environment.find(option.variable);
    if (found != environment.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace ratoon::local
