#include "operator/local/runner.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/http/server.h"
#include "base/process/free_port.h"
#include "operator/coordinator/coordinator.h"
#include "operator/core/members/roster.h"
#include "operator/core/policy/save_time.h"
#include "operator/core/policy/time_limit.h"
#include "operator/core/reconcile.h"
#include "operator/core/status/ledger.h"
#include "operator/core/status/progress.h"
#include "operator/local/cluster_only_fields.h"
#include "operator/local/control/run_controls.h"
#include "operator/local/disk_writer.h"
#include "operator/local/folder/run_console.h"
#include "operator/local/folder/run_events.h"
#include "operator/local/folder/run_folder.h"
#include "operator/local/folder/run_journal.h"
#include "operator/local/folder/save_location.h"
#include "operator/local/folder/status_file.h"
#include "operator/local/machine_capacity.h"
#include "operator/local/member_logs.h"
#include "operator/local/members/cgroup_rules.h"
#include "operator/local/members/local_cluster.h"
#include "operator/local/members/member_launch_context.h"
#include "operator/local/members/member_plan.h"
#include "operator/local/metrics_ports.h"
#include "operator/local/run_exit.h"
#include "operator/local/run_start.h"
#include "operator/local/runner_wakeup.h"

namespace ratoon::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSleepMax = seconds(1);
constexpr Duration kDrainTimeout = seconds(10);
// Signals this close are one request to stop: a supervisor may signal this process and then its group.
constexpr Duration kStopRequestWindow = milliseconds(100);
constexpr Duration kWaitCallInterval = milliseconds(100);
// If a member leaves within this time before the run's end, the run ends. Slow saves make the time longer.
constexpr Duration kFinalLeavePeriodMin = seconds(30);
constexpr int kFinalLeavePeriodSaves = 3;

std::filesystem::path current_folder() {
  std::error_code none;
  return std::filesystem::current_path(none);
}

class Runner {
 public:
  Runner(const RunOptions& options, const Clock& clock, RunFolder folder, RunnerWakeup wakeup,
         MemberLaunchContext launch_context)
      : options_(options),
        clock_(clock),
        folder_(std::make_shared<const RunFolder>(std::move(folder))),
        wakeup_(std::move(wakeup)),
        launch_context_(std::move(launch_context)),
        job_(options.job),
        save_folders_{.run = folder_->path(),
                      .save = options.save_folder.empty() ? folder_->checkpoints_path() : options.save_folder,
                      .work = current_folder()},
        save_location_(save_location(job_, save_folders_)),
        news_(
            options.print,
            {.pattern = folder_->log_path("*").string(), .repeats_last_lines = !options.shows_member_output},
            clock),
        // Without a trace there are as many nodes as members, and one spare node for a replacement.
        cluster_(options.losses.trace.empty() ? NodePool(count_members() + 1) : NodePool(),
                 [this](const api::Pod& pod) {
                   auto plan =
                       launch_context_.plan(job_, pod, *folder_,
                                            {.coordinator = server_->port(),
                                             .group = group_port_,
                                             .metrics = metrics_ports_.first_port_of(pod.name).value_or(0)});
                   plan.log_fd = log_.get();
                   return plan;
                 }),
        controls_(cluster_, journal_, clock, options.print, options.job.spec.is_suspended),
        coordinator_(clock, {.authenticate =
                                 [this](std::string_view shown, const ProcessIdentity&) {
                                   return launch_context_.authenticate(shown);
                                 },
                             .on_change = [this](const JobKey&) { wakeup_.notify(); }}) {
    if (options.while_waiting) wakeup_.call_while_asleep(kWaitCallInterval, options.while_waiting);
    wakeup_.pass_signals_to([this](int number) { cluster_.signal_all_members(number); });
    launch_context_.set_folder_and_devices(options.save_folder, options.devices,
                                           options.shares_staging_memory);
  }

  Result<int> run() {
    if (auto ready = prepare(); !ready) return ready.error();
    if (job_.status.phase == api::JobPhase::kSucceeded) {
      news_.print_line(
          job_.meta.name +
          " has completed already; to continue, give the trainer other arguments, such as a later end; "
          "to start over, pass " +
          options_.start_over_hint);
      return static_cast<int>(ExitCode::kDone);
    }
    while (!is_over()) {
      controls_.process_pending();
      cluster_.observe(clock_.now());
      if (is_ending()) return leave_at_end();
      if (auto decided = decide(); !decided) {
        tell_to_stop(decided.error().message());
        static_cast<void>(drain(kDrainTimeout));
        return decided.error();
      }
      if (is_over()) break;
      if (wakeup_.sleep(next_sleep()) > 0) return stop_for_user();
    }
    static_cast<void>(drain(kDrainTimeout));
    if (job_.status.phase != api::JobPhase::kSucceeded) news_.print_failure(job_.status);
    return exit_code_of(job_.status);
  }

 private:
  std::size_t count_members() const { return core::desired_members(options_.job).size(); }
  bool is_over() const { return api::is_over(job_.status.phase); }

  Result<void> prepare() {
    if (auto begun = begin(); !begun) return begun;
    if (job_.status.phase != api::JobPhase::kSucceeded)
      news_.print_line("running " + job_.meta.name + " in " + options_.folder.string() +
                       "; Ctrl-C stops it, the same command continues it");
    auto laid_out = launch_context_.prepare(*folder_, job_.spec.checkpoint_policy);
    if (!laid_out) return laid_out.error();
    if (*laid_out) news_.print_line(**laid_out);
    Cgroups cgroups = Cgroups::open("/", folder_->path(), needed_controllers(job_.spec));
    for (const auto& sentence : cgroups.unenforced_limits()) news_.print_line(sentence);
    cluster_.set_cgroups(std::move(cgroups));
    for (const auto& sentence : describe_cluster_only_fields(job_)) news_.print_line(sentence);
    if (job_.spec.is_suspended)
      news_.print_line("spec.suspend is true: no member is started before `ratoon resume`");
    if (job_.status.phase != api::JobPhase::kSucceeded) events_.begin(job_, clock_.wall_now(), clock_.now());
    auto server = http::HttpServer::start(
        {.port = 0, .unauthenticated_connections_max = unauthenticated_connections_max(job_.spec)},
        [this](http::ServerRequest request, http::Responder responder) {
          coordinator_.handle(request, std::move(responder));
        });
    if (!server) return server.error().with_context("opening the coordinator's port on 127.0.0.1");
    server_ = std::move(*server);
    controls_.follow_plan(options_.losses);
    controls_.listen(folder_->path(), disk_);
    wakeup_.watch(controls_.fd());
    return {};
  }

  Result<void> begin() {
    auto begun = begin_run(*folder_, job_, options_.starts_over, clock_.wall_now(),
                           [this](const api::TrainingJobStatus& fresh) {
                             job_.status = fresh;
                             return store_status();
                           });
    if (!begun) return begun.error();
    job_.status = std::move(begun->status);
    journal_.restore(begun->document);
    save_location_ = begun->save_location.value_or(save_location_);
    if (begun->archive_message) news_.print_line(*begun->archive_message);
    if (begun->continues_run && job_.spec.checkpoint_policy.overwrites)
      news_.print_line(
          "checkpointPolicy.overwrite applies only to the first run in a folder: this run continues");
    return {};
  }

  Result<void> decide() {
    job_.spec.is_suspended = controls_.is_suspended();
    const JobKey key = api::key_of(job_);
    const core::Observation seen{.job = job_,
                                 .pods = cluster_.pods(),
                                 .processes = coordinator_.processes(key),
                                 .world = coordinator_.world(key),
                                 .nodes = cluster_.nodes().nodes(),
                                 .wall_now = clock_.wall_now(),
                                 .recovery = recovery_,
                                 .checkpoint_lists_valid_from = lists_from_,
                                 .listening_since = coordinator_.listening_since(key),
                                 .refusal = explain_lack_of_nodes(std::exchange(without_node_, {}))};
    longest_save_ = core::longest_save_duration(seen).value_or(Duration(0));
    save_location_ = reported_save_location(seen.processes, save_folders_).value_or(save_location_);
    const core::Decision decision = core::reconcile(seen, clock_.now());
    wake_at_ = decision.wake_at;
    recovery_ = decision.recovery;
    lists_from_ = decision.announcement.checkpoint_lists_valid_from;
    if (!options_.shows_checkpoints) news_.print_checkpoint(job_.status, decision.status);
    news_.print_long_wait(job_.status, decision.status);
    if (decision.status.last_disruption && decision.status.last_disruption != job_.status.last_disruption)
      journal_.note_recovery(*decision.status.last_disruption);
    journal_.note_progress(seen.processes, decision.status, clock_.now());
    job_.status = decision.status;
    if (auto stored = store_status(); !stored) return stored;
    for (const auto& action : decision.actions) {
      if (auto done = std::visit([this](const auto& a) { return act(a); }, action); !done) return done;
    }
    news_.print_first_failure(job_.status);
    coordinator_.announce(key, decision.announcement);
    return decision.actions.empty() ? Result<void>() : store_status();
  }

  Result<void> act(const core::CreatePod& action) {
    auto started = start(action);
    if (started || !(started.error().is_retryable() || roles_run_.contains(action.pod.role))) return started;
    // If a role has run before, a failed start may succeed later, for example when a full disk has room
    // again. The operator's next decision, one second later, requests the pod again.
    if (refused_start_ != started.error().message()) news_.print_line(started.error().message());
    refused_start_ = started.error().message();
    return {};
  }
  Result<void> start(const core::CreatePod& action) {
    // If ending pods occupy all nodes, do not create the pod now: the end of one of them wakes this loop, and
    // the next decision requests the pod again.
    if (!cluster_.has_room_for(action.pod)) {
      without_node_.push_back(action.pod.name);
      return {};
    }
    if (action.pod.group_rank_assignment && action.pod.group_rank_assignment->first_rank == 0) {
      // Each new group of members without the agent gets a new port, because the old one may still be in use.
      auto port = find_free_port();
      if (!port) return port.error();
      group_port_ = *port;
    }
    auto log = logs_.open(action.pod.name);
    if (!log) return log.error();
    log_ = *std::move(log);
    metrics_ports_.assign_to_pod(job_, action.pod, cluster_.pods());
    const auto created = cluster_.create(action.pod);
    log_ = UniqueFd();
    if (!created) return created;
    refused_start_.clear();
    roles_run_.insert(action.pod.role);
    wakeup_.notify();  // the next decision notes its UID
    return {};
  }
  Result<void> act(const core::DeletePod& action) {
    const Timestamp end = clock_.now() + seconds(grace_seconds_of(job_.spec));
    cluster_.remove(action.uid, action.has_grace ? std::optional(end) : std::nullopt);
    return {};
  }
  // Deletes nothing, because the job file belongs to the user (see describe_cluster_only_fields()).
  static Result<void> act(const core::DeleteJob&) { return {}; }
  Result<void> act(const core::EmitEvent& action) {
    if (news_.print_event(action.message))
      events_.record_message(action.reason, action.message, clock_.wall_now());
    return {};
  }

  nlohmann::json look() {
    if (events_.has_begun()) events_.observe(job_.status, cluster_.pods(), clock_.wall_now(), clock_.now());
    nlohmann::json document = journal_.describe();
    document["job"] = api::encode_training_job(job_);
    document["members"] = cluster_.describe();
    metrics_ports_.add_ports_to(document["members"]);
    document["nodes"] = cluster_.nodes().describe();
    document["runner_pid"] = ::getpid();
    document["saves"] = save_location_;
    if (options_.show) options_.show(document);
    return document;
  }
  Result<void> store_status() { return status_file_.put(look(), clock_.now()); }

  Duration next_sleep() const {
    const Timestamp now = clock_.now();
    Timestamp next = now + kSleepMax;
    const auto end = options_.end ? std::optional(options_.end->at) : std::nullopt;
    for (const auto& moment : {wake_at_, controls_.next_event_time(), end})
      if (moment) next = std::min(next, *moment);
    return std::max(next - now, Duration(milliseconds(1)));
  }

  // Returns whether the run must end now: its end time has come, or a member has left because the end time is
  // near, so that a new member would leave at once, too.
  bool is_ending() const {
    if (!options_.end) return false;
    const Duration left = options_.end->at - clock_.now();
    if (left <= Duration(0)) return true;
    if (left > std::max<Duration>(kFinalLeavePeriodMin, kFinalLeavePeriodSaves * longest_save_)) return false;
    return std::ranges::any_of(cluster_.pods(), [](const api::Pod& pod) {
      return !pod.is_deleting && pod.exit_code == static_cast<int>(ExitCode::kPreempted);
    });
  }

  int leave_at_end() {
    news_.print_line("stopping because of " + options_.end->reason + ": members save and leave");
    if (!drain(options_.end->at - clock_.now()))
      news_.print_line("members that had not left yet were killed");
    news_.print_stop(job_.status);
    return static_cast<int>(ExitCode::kPreempted);
  }

  int stop_for_user() {
    const std::uint32_t grace = grace_seconds_of(job_.spec);
    cluster_.interrupt_all();
    for (const Timestamp end = clock_.now() + kStopRequestWindow; clock_.now() < end;)
      static_cast<void>(wakeup_.sleep(end - clock_.now()));
    news_.print_line("stopping: members save and leave, within " + std::to_string(grace) +
                     " s; Ctrl-C again stops them at once");
    if (!drain(seconds(grace))) news_.print_line("members that had not left yet were killed");
    news_.print_stop(job_.status);
    return static_cast<int>(ExitCode::kInterruptedByUser);
  }

  void tell_to_stop(const std::string& reason) {
    coordinator_.announce(
        api::key_of(job_),
        {.attempt = job_.status.attempt, .world = {}, .current = {}, .stop = true, .reason = reason});
  }

  // Waits for members to leave by themselves, then kills the others. Returns whether all members left.
  [[nodiscard]] bool drain(Duration at_most) {
    wakeup_.watch(-1);  // pending control requests fail when the runner ends
    const Timestamp deadline = clock_.now() + at_most;
    for (cluster_.observe(); !cluster_.has_no_processes() && clock_.now() < deadline; cluster_.observe()) {
      if (wakeup_.sleep(milliseconds(50)) > 0) break;
    }
    const bool has_left = cluster_.has_no_processes();
    cluster_.remove_all();
    while (!cluster_.has_no_processes()) {
      static_cast<void>(wakeup_.sleep(milliseconds(10)));
      cluster_.observe();
    }
    cluster_.observe();
    note_last_beats();
    core::stop_active_time(clock_.wall_now(), job_.status);
    static_cast<void>(status_file_.put_last(look()));
    events_.end(clock_.wall_now());
    return has_left;
  }

  void note_last_beats() {
    const Step before = job_.status.step;
    core::note_progress(coordinator_.processes(api::key_of(job_)), job_.status);
    if (job_.status.step > before) job_.status.last_step_at = clock_.wall_now();
    if (api::reports_steps(job_.spec)) core::end_useful_time_at_last_step(job_.status);
  }

  const RunOptions& options_;
  const Clock& clock_;
  const std::shared_ptr<const RunFolder> folder_;  // shared with calls to its disk that hang
  DiskWriter disk_;                                // for all files of the folder but logs
  RunnerWakeup wakeup_;
  MemberLaunchContext launch_context_;
  api::TrainingJob job_;
  const SaveFolders save_folders_;
  std::string save_location_;
  RunConsole news_;
  LocalCluster cluster_;
  RunJournal journal_;
  RunControls controls_;
  coordinator::Coordinator coordinator_;
  // The server is declared after the coordinator, so that the server is destroyed first.
  std::unique_ptr<http::HttpServer> server_;
  std::optional<Timestamp> wake_at_;
  std::vector<std::string> without_node_;  // of the last decision
  std::string refused_start_;              // the error of the last start that failed for lack of resources
  std::set<std::string> roles_run_;        // roles of which a member has been started
  std::optional<core::RecoveryTimestamps> recovery_;
  std::optional<Timestamp> lists_from_;  // announced by the last decision
  RunEvents events_{[this](const std::string& line) {
    disk_.add([folder = folder_, line] { folder->append_event(line); });
  }};
  StatusFile status_file_{
      folder_->status_path().string(),
      [this](const nlohmann::json& document) {
        return disk_.begin<void>([folder = folder_, document] { return folder->write_status(document); });
      },
      [this](const std::string& sentence) { news_.print_line(sentence); }};
  MemberLogs logs_{[folder = folder_](const std::string& member) { return folder->open_log(member); }};
  UniqueFd log_;  // of the member that is being started
  std::uint16_t group_port_ = 0;
  MetricsPorts metrics_ports_{options_.metrics_port};
  Duration longest_save_{0};  // of those that members have measured last
};

}  // namespace

Result<int> run(const RunOptions& options, const Clock& clock) {
  auto wakeup = RunnerWakeup::open();  // first: later threads inherit the blocked signals
  if (!wakeup) return wakeup.error();
  if (auto fits = check_capacity(options.job, count_capacity(options.losses)); !fits) return fits.error();
  auto folder = RunFolder::open(options.folder);
  if (!folder) return folder.error();
  auto launch_context = MemberLaunchContext::create(options.began);
  if (!launch_context) return launch_context.error();
  Runner runner(options, clock, std::move(*folder), std::move(*wakeup), std::move(*launch_context));
  return runner.run();
}

}  // namespace ratoon::local
