#include "launcher/member_launcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <optional>
#include <variant>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/core/random_name.h"
#include "base/core/threads/ignore_signal.h"
#include "base/core/unique_fd.h"
#include "base/process/child.h"
#include "base/process/free_port.h"
#include "base/process/unwritten_lines.h"
#include "launcher/member_link.h"
#include "launcher/notice_file.h"
#include "launcher/program_environment.h"

namespace ratoon::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kRestartsMax = 10;  // in a row, of a program that is killed within a minute
constexpr std::array kForwarded = {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
constexpr int kCannotStart = 127;  // as shells say
constexpr Duration kSleepMax = seconds(1);
constexpr int kLastWordsPauseMs = 1000;
constexpr Duration kLastBeatPatience = seconds(2);

Error explain_start(const std::string& name, int problem) {
  return system_error(problem, "starting '" + name + "' (the first word of the role's command)");
}

class MemberLauncher {
 public:
  MemberLauncher(const MemberSettings& settings, const std::vector<std::string>& command,
                 const std::vector<std::string>& environment, const Clock& clock)
      : settings_(settings),
        command_(command),
        environment_(environment),
        clock_(clock),
        words_(STDERR_FILENO),
        control_(settings.times, kRestartsMax),
        lifeline_fd_(settings.lifeline_fd) {}

  Result<int> run() {
    if (auto prepared = prepare_signals(); !prepared) return prepared.error();
    MemberLink link(settings_, clock_, [this] { wake(); });
    link_ = &link;
    while (!exit_code_) {
      words_.write_without_blocking();
      while (!exit_code_) {
        const auto action = control_.next(clock_.now());
        if (!action) break;
        std::visit([this](const auto& due) { perform(due); }, *action);
      }
      if (exit_code_) break;
      sleep();
      reap();
      hear(link.take_news());
    }
    words_.write_all(kLastWordsPauseMs);
    return *exit_code_;
  }

 private:
  Result<void> prepare_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (const int number : {SIGTERM, SIGINT})
      if (!is_ignored(number)) sigaddset(&signals, number);
    for (const int number : kForwarded)
      if (!is_ignored(number)) sigaddset(&signals, number);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    // Some supervisors start this process with SIGCHLD ignored. With SIGCHLD ignored the kernel reaps the
    // children itself, and their exit codes are lost.
    std::signal(SIGCHLD, SIG_DFL);
    for (const int number : {SIGPIPE, SIGXFSZ})
      if (!is_ignored(number)) ignored_here_.push_back(number);
    ignore_broken_output_signals();
    signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    woken_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (lifeline_fd_ >= 0) ::fcntl(lifeline_fd_, F_SETFD, FD_CLOEXEC);
    if (!signals_.is_open() || !woken_.is_open()) return system_error(errno, "watching for signals");
    return {};
  }

  void say(const std::string& sentence) {
    words_.add("ratoon-launcher: " + sentence);
    words_.write_without_blocking();
  }

  void wake() const {
    const std::uint64_t one = 1;
    // The write fails only if the eventfd's counter is full, and then this process is about to wake.
    static_cast<void>(::write(woken_.get(), &one, sizeof one));
  }

  void sleep() {
    Duration left = kSleepMax;
    if (const auto at = control_.wake_at())
      left = std::clamp<Duration>(*at - clock_.now(), milliseconds(1), left);
    std::array<pollfd, 3> ready{
        {{signals_.get(), POLLIN, 0}, {woken_.get(), POLLIN, 0}, {lifeline_fd_, POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
    std::uint64_t count = 0;
    static_cast<void>(::read(woken_.get(), &count, sizeof count));
    if (ready[2].revents != 0) {
      lifeline_fd_ = -1;
      control_.record_stop("the run that started this member has ended");
    }
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
      hear_signal(static_cast<int>(info.ssi_signo));
  }

  void hear_signal(int number) {
    if (number == SIGCHLD) return;
    if (number == SIGTERM || number == SIGINT)
      control_.record_stop("this member got signal " + std::to_string(number));
    else if (program_)
      ::kill(*program_, number);
  }

  void hear(const CoordinatorNews& news) {
    for (const std::string& word : news.words) say(word);
    if (news.orders) control_.note_orders(*news.orders, clock_.now());
    if (news.assignment) control_.note_assignment(*news.assignment);
    if (news.refusal) control_.note_refusal(*news.refusal);
    if (news.not_accepted) control_.note_no_coordinator(*news.not_accepted);
  }

  void reap() {
    const auto is_program = [this](pid_t pid) { return pid == program_; };
    for (EndedChild child = reap_child(is_program); child.pid != 0; child = reap_child(is_program)) {
      if (child.pid != program_) continue;  // an orphan
      program_.reset();
      end_other_processes();
      if (child.end.was_killed)
        say("the program was ended by signal " + std::to_string(child.end.code - 128));
      control_.note_end_of_program(child.end, clock_.now());
      if (control_.attempt().value() == 0) link_->report(Attempt(0));
    }
  }

  // A process that the program left behind, for example a server in a session of its own, would keep the port
  // or the accelerator that the next start needs. In a container this process is the first one, and all
  // others are of the program.
  static void end_other_processes() {
    constexpr pid_t kFirst = 1;
    constexpr pid_t kAll = -1;
    if (::getpid() == kFirst) ::kill(kAll, SIGKILL);
  }

  void perform(const JoinWorld& join) {
    if (start_.empty() || join.is_new_start) start_ = random_hex_name();
    std::uint16_t port = settings_.master_port;
    if (port == 0) {
      const auto free = find_free_port();
      if (!free) return give_up(static_cast<int>(exit_code_of(free.error().kind())), free.error().message());
      port = *free;
    }
    const bool is_v6 = settings_.host.find(':') != std::string::npos;
    const std::string host = is_v6 ? "[" + settings_.host + "]" : settings_.host;
    link_->join({.left_attempt = join.left,
                 .has_been_in_world = join.has_been_in_world,
                 .address = host + ":" + std::to_string(port),
                 .inventory_age_seconds = 0.0},
                start_);
  }

  void perform(const StartProgram& due) {
    auto place = place_variables(due.assignment);
    if (!place) return give_up(static_cast<int>(ExitCode::kConfiguration), place.error().message());
    std::vector<std::string> words;
    for (const std::string& word : command_) words.push_back(expand_place(word, *place));
    auto changes = *std::move(place);
    if (!settings_.notice_file.empty()) remove_notice(settings_.notice_file);
    const auto pid = start_child({.command = std::move(words),
                                  .environment = program_environment(environment_, changes),
                                  .restored_signals = ignored_here_,
                                  .explain = &explain_start});
    if (!pid && (pid.error().is_retryable() || has_run_)) {
      say(pid.error().message() + "; the start is tried again");
      return control_.record_failed_start(clock_.now());
    }
    if (!pid) return give_up(kCannotStart, pid.error().message());
    has_run_ = true;
    program_ = *pid;
    link_->report(due.assignment.attempt);
  }

  void perform(const TellToLeave& due) {
    const Timestamp now = clock_.now();
    const Duration left = std::max<Duration>(due.deadline - now, Duration(0));
    say("the program gets SIGTERM and has " + std::to_string(left / milliseconds(1)) + " ms: " + due.reason);
    if (!settings_.notice_file.empty()) {
      const WallTime deadline{clock_.wall_now().since_epoch + left};
      if (auto written = write_notice(settings_.notice_file, notice_text(deadline, due.reason)); !written)
        say("the notice cannot be written (RATOON_NOTICE_FILE): " + written.error().message());
    }
    // Only the program itself gets SIGTERM, as a container's first process does. A worker of the program that
    // ended by SIGTERM would make the program fail before it has saved.
    if (program_) ::kill(*program_, SIGTERM);
  }

  void perform(const KillProgram&) {
    say("the program has not left in time and is killed");
    if (program_) ::kill(-*program_, SIGKILL);
  }

  void perform(const EndLauncher& due) {
    if (!due.why.empty()) say(due.why);
    // Otherwise the operator sees only a silent member until the kubelet has reported the end of the pod.
    if (due.is_code_of_program) link_->report_end(due.code, kLastBeatPatience);
    exit_code_ = due.code;
  }

  void give_up(int code, const std::string& why) {
    say(why);
    exit_code_ = code;
  }

  const MemberSettings& settings_;
  const std::vector<std::string>& command_;
  const std::vector<std::string>& environment_;
  const Clock& clock_;
  UnwrittenLines words_;
  ProgramControl control_;
  MemberLink* link_ = nullptr;
  UniqueFd signals_;
  UniqueFd woken_;
  int lifeline_fd_;
  std::vector<int> ignored_here_;  // but not by the process that started us
  std::string start_;
  std::optional<pid_t> program_;
  bool has_run_ = false;
  std::optional<int> exit_code_;
};

}  // namespace

Result<int> launch_member(const MemberSettings& settings, const std::vector<std::string>& command,
                          const std::vector<std::string>& environment, const Clock& clock) {
  return MemberLauncher(settings, command, environment, clock).run();
}

}  // namespace ratoon::launcher
