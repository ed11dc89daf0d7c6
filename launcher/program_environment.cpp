#include "launcher/program_environment.h"

#include <algorithm>
#include <array>

#include "base/contract/names.h"

namespace ratoon::launcher {
namespace {

namespace env = names::env;

// A program that links Ratoon would use these variables to join the world in the launcher's place.
constexpr std::array<std::string_view, 5> kOfLauncher = {
    env::kCoordinatorUrl, env::kCoordinatorCa, env::kCoordinatorName, env::kTokenFile, env::kLifelineFd};

}  // namespace

Result<std::map<std::string, std::string>> place_variables(const Assignment& assignment) {
  const std::string& address = assignment.rendezvous;
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return Error(ErrorKind::kInvalid, "the address of rank 0 is '" + address +
                                          "', but must be host:port: use an operator of this version");
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::map<std::string, std::string>{{env::kRank, std::to_string(assignment.rank.value())},
                                            {env::kWorldSize, std::to_string(assignment.world_size)},
                                            {env::kMasterAddress, std::move(host)},
                                            {env::kMasterPort, address.substr(colon + 1)}};
}

std::string expand_place(std::string_view word, const std::map<std::string, std::string>& place) {
  std::string expanded;
  while (!word.empty()) {
    const auto begin = word.find("$(");
    expanded += word.substr(0, begin);
    if (begin == std::string_view::npos) break;
    word.remove_prefix(begin);
    const auto end = word.find(')');
    const auto known =
        end == std::string_view::npos ? place.end() : place.find(std::string(word.substr(2, end - 2)));
    const std::size_t taken = known == place.end() ? 2 : end + 1;
    expanded += known == place.end() ? std::string(word.substr(0, taken)) : known->second;
    word.remove_prefix(taken);
  }
  return expanded;
}

std::vector<std::string> program_environment(const std::vector<std::string>& inherited,
                                             const std::map<std::string, std::string>& changes) {
  std::vector<std::string> merged;
  for (const std::string& variable : inherited) {
    const std::string name = variable.substr(0, variable.find('='));
    const bool is_ours = std::ranges::find(kOfLauncher, std::string_view(name)) != kOfLauncher.end();
    if (!is_ours && !changes.contains(name)) merged.push_back(variable);
  }
  for (const auto& [name, value] : changes) merged.push_back(name + "=" + value);
  return merged;
}

}  // namespace ratoon::launcher
