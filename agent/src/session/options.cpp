#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <ratoon/options.h>

#include "base/contract/names.h"

namespace ratoon {
namespace {

// One row an option: where it is kept, its variable, its flag (nullptr: not for people).
struct Row {
  std::variant<std::string*, std::uint64_t*, std::uint32_t*, std::optional<std::uint32_t>*, int*> target;
  const char* variable;
  const char* flag;
};

std::vector<Row> rows_of(Options& o) {
  namespace env = names::env;
  return {{&o.save_folder, env::kSaveFolder, "--save-folder"},
          {&o.run_name, env::kRunName, "--run-name"},
          {&o.save_every_steps, env::kSaveEverySteps, "--save-every"},
          {&o.keep_last, env::kKeepLast, "--keep-last"},
          {&o.member.coordinator_url, env::kCoordinatorUrl, nullptr},
          {&o.member.token_file, env::kTokenFile, nullptr},
          {&o.member.job_namespace, env::kJobNamespace, nullptr},
          {&o.member.job_name, env::kJobName, nullptr},
          {&o.member.role, env::kRole, nullptr},
          {&o.member.member_uid, env::kMemberUid, nullptr},
          {&o.member.pod_ip, env::kPodIp, nullptr},
          {&o.member.index, env::kIndex, nullptr},
          {&o.member.incarnation, env::kIncarnation, nullptr},
          {&o.member.local_rank, env::kLocalRank, nullptr},
          {&o.member.processes_per_node, env::kProcessesPerNode, nullptr},
          {&o.member.termination_file, env::kTerminationFile, nullptr},
          {&o.member.metrics_port, env::kMetricsPort, nullptr},
          {&o.member.lifeline_fd, env::kLifelineFd, nullptr}};
}

// The value after --flag or --flag=; the last one counts.
Result<std::optional<std::string>> find_flag(int argc, const char* const* argv, std::string_view flag) {
  std::optional<std::string> value;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word == flag) {
      if (i + 1 >= argc) return Error(ErrorKind::kInvalid, std::string(flag) + " needs a value after it");
      value = argv[++i];
    } else if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      value = word.substr(flag.size() + 1);
    }
  }
  return value;
}

// What kind of number an option holds.
template <class T>
T number_in(const T&);
template <class T>
T number_in(const std::optional<T>&);

Result<void> assign(const Row& row, const std::string& text, const std::string& source) {
  return std::visit(
      [&](auto* target) -> Result<void> {
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, std::string>) {
          *target = text;
        } else {
          using T = decltype(number_in(*target));
          T value{};
          const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
          if (code != std::errc() || end != text.data() + text.size()) {
            return Error(ErrorKind::kInvalid, source + " must be a whole number up to " +
                                                  std::to_string(std::numeric_limits<T>::max()) +
                                                  ", found '" + text + "'");
          }
          *target = value;
        }
        return {};
      },
      row.target);
}

Result<void> validate(const Options& o) {
  if (o.save_folder.empty()) {
    return Error(ErrorKind::kInvalid,
                 "no folder to save to: pass --save-folder FOLDER or set RATOON_SAVE_FOLDER");
  }
  if (o.run_name.empty() || o.run_name.find('/') != std::string::npos || o.run_name.front() == '.') {
    return Error(ErrorKind::kInvalid, "no name for the run (a folder name, found '" + o.run_name +
                                          "'): pass --run-name NAME or set RATOON_RUN_NAME");
  }
  if (o.save_every_steps == 0) return Error(ErrorKind::kInvalid, "--save-every must be at least 1 step");
  if (o.keep_last < 2) return Error(ErrorKind::kInvalid, "--keep-last must be at least 2 checkpoints");
  return {};
}

}  // namespace

Result<Options> Options::from_environment(int argc, const char* const* argv) {
  return from_environment(argc, argv, Options());
}

Result<Options> Options::from_environment(int argc, const char* const* argv, Options defaults) {
  Options options = std::move(defaults);
  for (const Row& row : rows_of(options)) {
    std::optional<std::string> text;
    std::string source = row.variable;
    if (const char* value = std::getenv(row.variable)) text = value;
    if (row.flag != nullptr) {
      auto flag = find_flag(argc, argv, row.flag);
      if (!flag) return flag.error();
      if (*flag) {
        text = **flag;
        source = row.flag;
      }
    }
    if (!text) continue;
    if (auto assigned = assign(row, *text, source); !assigned) return assigned.error();
  }
  if (auto valid = validate(options); !valid) return valid.error();
  return options;
}

}  // namespace ratoon
