#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <ratoon/options.h>

#include "agent/src/session/launcher_variables.h"
#include "agent/src/session/notice_setup.h"
#include "agent/src/session/option_rows.h"
#include "agent/src/session/phase_watch.h"
#include "agent/src/session/place_options.h"
#include "agent/src/session/rollback_plan.h"
#include "base/contract/names.h"
#include "base/core/lists.h"

namespace ratoon {

using session::CountOrAll;

namespace {

constexpr std::uint64_t kStagingSlotsMax = 16;
constexpr std::uint64_t kMibMax = 1ULL << 40;
constexpr std::uint64_t kPatienceSecondsMax = 86'400;

}  // namespace

std::vector<session::OptionRow> session::option_rows(Options& o) {
  namespace env = names::env;
  return {
      {&o.save_folder, env::kSaveFolder, "--save-folder", "where runs are kept; required"},
      {&o.run_name, env::kRunName, "--run-name", "the run's own folder in it; required"},
      {&o.save_every, env::kSaveEverySteps, "--save-every",
       "from one save to the next: 100st, 0.5ep, 10m, auto; a number alone is of steps"},
      {&o.max_duration, env::kMaxDuration, "--max-duration",
       "when the run is over, counted from its beginning: 90ep, 5000st, 12h; outweighs what the program "
       "says"},
      {&o.resume_from, env::kResumeFrom, "--resume-from",
       "a step: goes back to its checkpoint, once for this and --skip; what is newer is set aside"},
      {&o.skip, env::kSkip, "--skip", "samples after --resume-from that are never taken"},
      {CountOrAll{&o.keep_last}, env::kKeepLast, "--keep-last",
       "committed checkpoints to keep: at least 2, all, or 0: none that every store holds"},
      {&o.stores, env::kStores, "--stores",
       "places that get copies, separated by commas: folders, file://, s3://; the run's name is added"},
      {&o.load_from, env::kLoadFrom, "--load-from",
       "another run's folder, store or manifest: its weights, where nowhere is a checkpoint of this run"},
      {&o.overwrite, env::kOverwrite, "--overwrite",
       "true: begins anew at each start and sets aside what there is; a job begins anew once"},
      {CountOrAll{&o.keep_last_in_stores}, env::kKeepLastInStores, "--keep-last-in-stores",
       "the same as --keep-last for stores: at least 2, or all"},
      {&o.keep_every_steps, env::kKeepEverySteps, "--keep-every",
       "and each whose step is a multiple, here and in stores; 0: none"},
      {&o.keep_mib, env::kKeepMib, "--keep-mib",
       "of all in the folder; the oldest go first, the newest stays; 0: no limit"},
      {&o.latest_name, env::kLatestName, "--latest-name",
       "link to the newest pack, with {run_name}, {batch}, {rank}, {timestamp}; empty: none"},
      {&o.final_weights, env::kFinalWeights, "--final-weights",
       "safetensors file that takes the weights at the end, in the run's folder unless it has one; empty: "
       "none"},
      {&o.deterministic, env::kDeterministic, "--deterministic",
       "true: pins threads, CPU instructions and algorithms, so that bits do not depend on the machine; "
       "slower"},
      {&o.staging_folder, env::kStagingFolder, "--staging-folder",
       "a folder in a memory file system for what is saved and not yet on the disk; empty: own memory"},
      {&o.staging_slots, env::kStagingSlots, "--staging-slots",
       "saves that may be in flight; 0: training waits for the disk"},
      {&o.staging_memory_mib, env::kStagingMemoryMib, "--staging-memory-mib",
       "of all slots of a process; 0: half of what is free at its start"},
      {&o.max_missed_saves, env::kMaxMissedSaves, "--max-missed-saves",
       "saves in a row that may fail before the process ends with exit code 84"},
      {&o.disk_patience_seconds, env::kDiskPatienceSeconds, "--disk-patience",
       "seconds that one call to the disk may hang"},
      {&o.notice.time_limit, env::kTimeLimit, "--time-limit",
       "how long this process may live, 4h: it saves in time and ends with exit code 80; empty: no limit"},
      {&o.notice.grace_seconds, env::kGraceSeconds, "--grace-seconds",
       "seconds from SIGTERM to the moment when the process is killed"},
      {&o.notice.signal, env::kNoticeSignal, "--notice-signal",
       "USR1, USR2 or none: says the same as SIGTERM; empty: USR1 under Slurm, else none"},
      {&o.notice.handles_signals, env::kSignals, "--signals",
       "false: none are handled, and Ctrl-C loses what was not saved"},
      {&o.hang.after, env::kHangAfter, "--hang-after",
       "how long a process may stand in one phase of a step, 5m; auto: learned from the steps before; off"},
      {&o.hang.leave_seconds, env::kLeaveWithin, "--leave-within",
       "seconds in which a process that is told to leave its world does, or ends with exit code 81"},
      {&o.notice.slurm_job_end_time, env::kSlurmJobEndTime, nullptr},
      {&o.notice.slurm_job_id, env::kSlurmJobId, nullptr},
      {&o.member.coordinator_url, env::kCoordinatorUrl, nullptr},
      {&o.member.token_file, env::kTokenFile, nullptr},
      {&o.member.job_namespace, env::kJobNamespace, nullptr},
      {&o.member.job_name, env::kJobName, nullptr},
      {&o.member.job_uid, env::kJobUid, nullptr},
      {&o.member.role, env::kRole, nullptr},
      {&o.member.member_uid, env::kMemberUid, nullptr},
      {&o.member.pod_ip, env::kPodIp, nullptr},
      {&o.member.index, env::kIndex, nullptr},
      {&o.member.incarnation, env::kIncarnation, nullptr},
      {&o.member.local_rank, env::kLocalRank, nullptr},
      {&o.member.processes_per_node, env::kProcessesPerNode, nullptr},
      {&o.member.termination_file, env::kTerminationFile, nullptr},
      {&o.member.metrics_port, env::kMetricsPort, nullptr},
      {&o.member.lifeline_fd, env::kLifelineFd, nullptr},
  };
}

namespace {

// The value after --flag or --flag=; the last one counts. A switch without one is on.
Result<std::optional<std::string>> find_flag(int argc, const char* const* argv, std::string_view flag,
                                             bool is_switch) {
  std::optional<std::string> value;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word == flag) {
      if (is_switch && (i + 1 >= argc || argv[i + 1][0] == '-')) {
        value = "true";
        continue;
      }
      if (i + 1 >= argc) return Error(ErrorKind::kInvalid, std::string(flag) + " needs a value after it");
      value = argv[++i];
    } else if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      value = word.substr(flag.size() + 1);
    }
  }
  return value;
}

bool asks_for_help(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == session::kHelpFlag) return true;
  return false;
}

// Before there were units a number meant steps.
std::string with_unit(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? text + "st" : text;
}

template <class T>
Result<void> assign_parsed(T* target, const Result<T>& parsed, const std::string& source) {
  if (!parsed) return Error(ErrorKind::kInvalid, source + ": " + parsed.error().message());
  *target = *parsed;
  return {};
}

// What kind of number an option holds.
template <class T>
T number_in(const T&);
template <class T>
T number_in(const std::optional<T>&);

Result<void> assign_to(std::string* target, const std::string& text, const std::string&) {
  *target = text;
  return {};
}

Result<void> assign_to(bool* target, const std::string& text, const std::string& source) {
  if (text != "true" && text != "false")
    return Error(ErrorKind::kInvalid, source + " must be true or false, found '" + text + "'");
  *target = text == "true";
  return {};
}

Result<void> assign_to(std::vector<std::string>* target, const std::string& text, const std::string& source) {
  *target = split(text, ',');
  if (std::find(target->begin(), target->end(), "") == target->end()) return {};
  return Error(ErrorKind::kInvalid, source + " has an empty place between its commas, found '" + text + "'");
}

Result<void> assign_to(Every* target, const std::string& text, const std::string& source) {
  auto every = Every::parse(with_unit(text));
  return assign_parsed(target, every ? every : Every::parse(text), source);
}

Result<void> assign_to(std::optional<Until>* target, const std::string& text, const std::string& source) {
  return assign_parsed(&target->emplace(Until::steps(0)), Until::parse(text), source);
}

template <class Number>
Result<void> assign_to(Number* target, const std::string& text, const std::string& source) {
  using T = decltype(number_in(*target));
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    return Error(ErrorKind::kInvalid, source + " must be a whole number up to " +
                                          std::to_string(std::numeric_limits<T>::max()) + ", found '" + text +
                                          "'");
  }
  *target = value;
  return {};
}

Result<void> assign_to(const CountOrAll& target, const std::string& text, const std::string& source) {
  if (text != "all") {
    if (assign_to(target.count, text, source)) return {};
    return Error(ErrorKind::kInvalid, source + " must be a whole number up to " +
                                          std::to_string(std::numeric_limits<std::uint64_t>::max()) +
                                          ", or 'all', found '" + text + "'");
  }
  *target.count = kKeepAllCheckpoints;
  return {};
}

Result<void> assign(const session::OptionRow& row, const std::string& text, const std::string& source) {
  return std::visit([&](const auto& target) { return assign_to(target, text, source); }, row.target);
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
  if (auto valid = session::check_places(o); !valid) return valid;
  if (auto valid = session::check_rollback(o); !valid) return valid;
  if (auto valid = session::check_notices(o.notice); !valid) return valid;
  if (auto limits = session::read_hang_limits(o); !limits) return limits.error();
  if (o.hang.leave_seconds == 0 || o.hang.leave_seconds > kPatienceSecondsMax) {
    return Error(ErrorKind::kInvalid,
                 "--leave-within must be 1 to " + std::to_string(kPatienceSecondsMax) + " seconds");
  }
  if (o.staging_slots > kStagingSlotsMax)
    return Error(ErrorKind::kInvalid, "--staging-slots must be at most " + std::to_string(kStagingSlotsMax));
  if (o.staging_memory_mib > kMibMax)
    return Error(ErrorKind::kInvalid, "--staging-memory-mib must be at most " + std::to_string(kMibMax));
  if (o.disk_patience_seconds == 0 || o.disk_patience_seconds > kPatienceSecondsMax) {
    return Error(ErrorKind::kInvalid,
                 "--disk-patience must be 1 to " + std::to_string(kPatienceSecondsMax) + " seconds");
  }
  return {};
}

}  // namespace

Result<Options> Options::from_environment(int argc, const char* const* argv) {
  return from_environment(argc, argv, Options());
}

Result<Options> Options::from_environment(int argc, const char* const* argv, Options defaults) {
  if (asks_for_help(argc, argv)) {
    Options options;
    options.help = session::help_text(std::move(defaults));
    return options;
  }
  Options options = std::move(defaults);
  for (const auto& row : session::option_rows(options)) {
    std::optional<std::string> text;
    std::string source = row.variable;
    if (const char* value = std::getenv(row.variable)) text = value;
    if (row.flag != nullptr) {
      auto flag = find_flag(argc, argv, row.flag, std::holds_alternative<bool*>(row.target));
      if (!flag) return flag.error();
      if (*flag) {
        text = **flag;
        source = row.flag;
      }
    }
    if (!text) continue;
    if (auto assigned = assign(row, *text, source); !assigned) return assigned.error();
  }
  if (options.member.coordinator_url.empty()) {
    auto group = session::read_launcher_variables([](const char* name) {
      const char* value = std::getenv(name);
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    });
    if (!group) return group.error();
    options.group = *std::move(group);
  }
  if (auto valid = validate(options); !valid) return valid.error();
  return options;
}

}  // namespace ratoon
