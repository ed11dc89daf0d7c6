#include "cli/launch/launcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <set>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "base/core/child_process.h"
#include "base/core/random_name.h"
#include "base/core/threads/ignore_signal.h"
#include "base/process/child.h"
#include "base/process/process_supervisor.h"
#include "operator/local/members/find_program.h"

namespace ratoon::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array kForwardedSignals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
constexpr Duration kSleepMax = seconds(1);

bool is_stop_signal(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

std::int64_t seconds_since_1970(WallTime time) {
  return std::chrono::duration_cast<seconds>(time.since_epoch).count();
}

class Launcher {
 public:
  Launcher(const LauncherOptions& plan, const Clock& clock)
      : plan_(plan), clock_(clock), supervisor_(plan.processes, plan.restarts_max) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int signal : kForwardedSignals)
      if (!is_ignored(signal)) sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
    // Some supervisors start this process with SIGCHLD ignored. With SIGCHLD ignored the kernel reaps the
    // children itself, and their exit codes are lost.
    std::signal(SIGCHLD, SIG_DFL);
    // Ignore signals of failed writes, because a closed output or `ulimit -f` must not end this process.
    for (const int number : {SIGPIPE, SIGXFSZ})
      if (!is_ignored(number)) ignored_here_.push_back(number);
    ignore_broken_output_signals();
  }

  Result<int> run() {
    while (!supervisor_.is_over()) {
      if (auto started = start_due(); !started) {
        end_all(SIGKILL);
        while (!living_.empty()) sleep();
        return started.error();
      }
      sleep();
      if (supervisor_.has_failed())
        end_the_rest();
      else if (supervisor_.was_preempted())
        end_stragglers();
    }
    return supervisor_.exit_code();
  }

 private:
  Result<void> start_due() {
    for (const std::uint32_t rank : supervisor_.ranks_to_start(clock_.now())) {
      auto pid = start_child({.command = plan_.command,
                              .environment = environment_with(environment_of(rank)),
                              .restored_signals = ignored_here_,
                              .explain = &local::start_error});
      // A rank that has run before is retried, because the file system may be unavailable for a moment, or
      // another program may just be replacing the trainer's file.
      if (!pid && !pid.error().is_retryable() && !have_run_.contains(rank)) return pid.error();
      if (!pid) {
        say_once("process " + std::to_string(rank) + " cannot be started now: " + pid.error().message());
        supervisor_.record_failed_start(rank, clock_.now());
        continue;
      }
      said_.clear();
      living_[*pid] = rank;
      have_run_.insert(rank);
      supervisor_.record_start(rank, clock_.now());
    }
    return {};
  }

  std::map<std::string, std::string> environment_of(std::uint32_t rank) const {
    namespace env = names::env;
    std::map<std::string, std::string> environment = {
        {env::kLaunch, name_},
        {env::kLocalRank, std::to_string(rank)},
        {"LOCAL_WORLD_SIZE", std::to_string(plan_.processes)},
        {env::kProcessesPerNode, std::to_string(plan_.processes)},
        // A restarted process has the same deadline as the first start.
        {env::kTimeLimitSince, plan_.time_limit_since.value_or(began_)}};
    if (!plan_.devices.empty() && plan_.processes > 1)
      environment["CUDA_VISIBLE_DEVICES"] = plan_.devices[rank % plan_.devices.size()];
    return environment;
  }

  void say_once(const std::string& sentence) {
    if (sentence != said_) plan_.say(sentence);
    said_ = sentence;
  }

  void sleep() {
    plan_.retry_output();
    Duration left = kSleepMax;
    if (const auto next = supervisor_.next_start_time())
      left = std::clamp<Duration>(*next - clock_.now(), milliseconds(1), kSleepMax);
    const timespec limit = {.tv_sec = left / seconds(1), .tv_nsec = (left % seconds(1)).count()};
    const int signal = ::sigtimedwait(&signals_, nullptr, &limit);
    while (true) {
      const EndedChild child = reap_child([this](pid_t pid) { return living_.contains(pid); });
      if (child.pid == 0) break;
      record_end(child);
    }
    if (signal > 0 && signal != SIGCHLD) forward(signal);
  }

  void forward(int signal) {
    end_all(signal);
    if (!is_stop_signal(signal)) return;
    supervisor_.record_stop(signal == SIGINT ? ExitCode::kInterruptedByUser : ExitCode::kPreempted);
    end_all(SIGCONT);  // a stopped process gets no other signal
  }

  void record_end(const EndedChild& child) {
    const auto found = living_.find(child.pid);
    if (found == living_.end()) return;
    const std::uint32_t rank = found->second;
    living_.erase(found);
    const bool starts_again = supervisor_.record_end(rank, child.end, clock_.now());
    if (child.end.code == 0) return;
    const std::string how = child.end.was_killed
                                ? "was killed by signal " + std::to_string(child.end.code - 128)
                                : "ended with exit code " + std::to_string(child.end.code);
    plan_.say("process " + std::to_string(rank) + " (pid " + std::to_string(child.pid) + ") " + how +
              (starts_again ? "; it is started again" : ""));
  }

  // When a process exits after SIGTERM, usually all processes got SIGTERM and exit. A process that got no
  // SIGTERM would wait forever for an exited process, because the launcher does not restart a process that
  // exited after SIGTERM.
  void end_stragglers() {
    if (!hurry_at_) hurry_at_ = clock_.now() + plan_.grace;
    if (living_.empty() || has_hurried_ || clock_.now() < *hurry_at_) return;
    has_hurried_ = true;
    plan_.say("a process left after a signal, but others still run: they get SIGTERM now");
    end_all(SIGTERM);
  }

  void end_the_rest() {
    if (living_.empty()) return;
    if (!kill_at_) {
      kill_at_ = clock_.now() + plan_.grace;
      plan_.say("the other processes get SIGTERM, and are killed after " +
                std::to_string(plan_.grace / seconds(1)) + " s");
      end_all(SIGTERM);
    } else if (clock_.now() >= *kill_at_) {
      end_all(SIGKILL);
    }
  }

  void end_all(int signal) const {
    for (const auto& [pid, rank] : living_) ::kill(-pid, signal);
  }

  const LauncherOptions& plan_;
  const Clock& clock_;
  const std::string name_ = random_hex_name();
  const std::string began_ = std::to_string(seconds_since_1970(clock_.wall_now()));
  ProcessSupervisor supervisor_;
  sigset_t signals_{};
  std::vector<int> ignored_here_;  // but not by the process that started us
  std::map<pid_t, std::uint32_t> living_;
  std::set<std::uint32_t> have_run_;   // ranks that were started at least once
  std::optional<Timestamp> hurry_at_;  // when processes that have not left get SIGTERM
  bool has_hurried_ = false;
  std::optional<Timestamp> kill_at_;
  std::string said_;  // the last refused start, until one succeeds
};

}  // namespace

Result<int> launch(const LauncherOptions& plan, const Clock& clock) {
  return Launcher(plan, clock).run();
}

}  // namespace ratoon::cli
