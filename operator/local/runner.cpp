#include "operator/local/runner.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/http/server.h"
#include "operator/coordinator/coordinator.h"
#include "operator/core/duration.h"
#include "operator/core/progress.h"
#include "operator/core/reconcile.h"
#include "operator/core/roster.h"
#include "operator/local/beginning.h"
#include "operator/local/cgroup_rules.h"
#include "operator/local/cluster_words.h"
#include "operator/local/controls.h"
#include "operator/local/free_port.h"
#include "operator/local/machine.h"
#include "operator/local/room.h"
#include "operator/local/run_book.h"
#include "operator/local/run_events.h"
#include "operator/local/run_exit.h"
#include "operator/local/run_folder.h"
#include "operator/local/run_news.h"
#include "operator/local/saves_place.h"
#include "operator/local/status_file.h"
#include "operator/local/supplies.h"
#include "operator/local/wakeup.h"

namespace ratoon::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSleepMax = seconds(1);
constexpr Duration kDrainMax = seconds(10);
// A signal to us and at once to our group is one wish.
constexpr Duration kOneWish = milliseconds(100);
constexpr std::uint32_t kGraceSeconds = 30;  // as a pod has, where the job says nothing

Room look_for_room(const LossPlan& losses) {
  Room room;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) room.open_files = limit.rlim_cur;
  std::uint64_t threads = 0;
  if (std::ifstream("/proc/sys/kernel/pid_max") >> threads) room.threads = threads;
  if (!losses.trace.empty()) room.nodes_max = most_nodes_of(losses.trace);
  return room;
}

std::filesystem::path current_folder() {
  std::error_code none;
  return std::filesystem::current_path(none);
}

class Runner {
 public:
  Runner(const RunOptions& options, const Clock& clock, RunFolder folder, Wakeup wakeup, Supplies supplies)
      : options_(options),
        clock_(clock),
        folder_(std::move(folder)),
        wakeup_(std::move(wakeup)),
        supplies_(std::move(supplies)),
        job_(options.job),
        saves_place_(saves_place(
            job_, {.run = folder_.path(), .save = folder_.checkpoints_path(), .work = current_folder()})),
        news_(options.print, folder_.log_path("*").string(), clock),
        // As many as members, and one to go to when a node is lost; or those of the trace.
        machine_(options.losses.trace.empty() ? NodePool(count_members() + 1) : NodePool(),
                 [this](const api::Pod& pod) {
                   return supplies_.plan(job_, pod, folder_,
                                         {.coordinator = server_->port(), .group = group_port_});
                 }),
        controls_(machine_, book_, clock, options.print, options.job.spec.is_suspended),
        coordinator_(
            clock, {.authenticate = [this](std::string_view shown,
                                           const ProcessIdentity&) { return supplies_.authenticate(shown); },
                    .on_news = [this](const JobKey&) { wakeup_.notify(); }}) {}

  Result<int> run() {
    if (auto ready = prepare(); !ready) return ready.error();
    if (job_.status.phase == api::JobPhase::kSucceeded) {
      news_.say(job_.meta.name +
                " has completed already; other arguments of the trainer, as a later end, let it go on; to "
                "start over, pass " +
                options_.how_to_start_over);
      return static_cast<int>(ExitCode::kDone);
    }
    while (!is_over()) {
      if (auto decided = decide(); !decided) {
        tell_to_stop(decided.error().message());
        static_cast<void>(drain(kDrainMax));
        return decided.error();
      }
      if (is_over()) break;
      if (wakeup_.sleep(next_sleep()) > 0) return stop_for_user();
    }
    static_cast<void>(drain(kDrainMax));
    if (job_.status.phase != api::JobPhase::kSucceeded) news_.tell_failure(job_.status);
    return exit_code_of(job_.status);
  }

 private:
  std::size_t count_members() const { return core::desired_members(options_.job).size(); }
  bool is_over() const { return api::is_over(job_.status.phase); }

  Result<void> prepare() {
    if (auto begun = begin(); !begun) return begun;
    if (job_.status.phase != api::JobPhase::kSucceeded)
      news_.say("running " + job_.meta.name + " in " + options_.folder.string() +
                "; Ctrl-C stops it, the same command goes on");
    auto laid_out = supplies_.lay_out(folder_, job_.spec.checkpoint_policy);
    if (!laid_out) return laid_out.error();
    if (*laid_out) news_.say(**laid_out);
    Cgroups cgroups = Cgroups::open("/", folder_.path(), controllers_of(job_.spec));
    for (const auto& sentence : cgroups.refusals()) news_.say(sentence);
    machine_.hold_with(std::move(cgroups));
    for (const auto& sentence : cluster_words(job_)) news_.say(sentence);
    if (job_.spec.is_suspended) news_.say("spec.suspend is true: nothing is started before `ratoon resume`");
    if (job_.status.phase != api::JobPhase::kSucceeded) events_.begin(job_, clock_.wall_now());
    auto server = http::HttpServer::start({.port = 0, .strangers_max = strangers_max(job_.spec)},
                                          [this](http::ServerRequest request, http::Responder responder) {
                                            coordinator_.handle(request, std::move(responder));
                                          });
    if (!server) return server.error().with_context("opening the coordinator's port on 127.0.0.1");
    server_ = std::move(*server);
    controls_.follow(options_.losses);
    controls_.listen(folder_.path());
    wakeup_.watch(controls_.fd());
    return {};
  }

  Result<void> begin() {
    auto begun = begin_run(folder_, job_, options_.starts_over, clock_.wall_now(),
                           [this](const api::TrainingJobStatus& fresh) {
                             job_.status = fresh;
                             return store_status();
                           });
    if (!begun) return begun.error();
    job_.status = std::move(begun->status);
    book_.restore(begun->document);
    if (begun->set_aside) news_.say(*begun->set_aside);
    if (begun->goes_on && job_.spec.checkpoint_policy.overwrites)
      news_.say("checkpointPolicy.overwrite counts for the first run in a folder only: this one goes on");
    return {};
  }

  Result<void> decide() {
    controls_.act();
    job_.spec.is_suspended = controls_.is_suspended();
    machine_.observe();
    const JobKey key = api::key_of(job_);
    const core::Observation seen{.job = job_,
                                 .pods = machine_.pods(),
                                 .processes = coordinator_.processes(key),
                                 .world = coordinator_.world(key),
                                 .nodes = machine_.nodes().nodes(),
                                 .wall_now = clock_.wall_now(),
                                 .recovery = recovery_,
                                 .listening_since = coordinator_.listening_since(key)};
    const core::Decision decision = core::reconcile(seen, clock_.now());
    wake_at_ = decision.wake_at;
    recovery_ = decision.recovery;
    if (!options_.shows_checkpoints) news_.tell_checkpoint(job_.status, decision.status);
    news_.tell_long_wait(job_.status, decision.status, std::exchange(without_node_, {}));
    if (decision.status.last_disruption && decision.status.last_disruption != job_.status.last_disruption)
      book_.note_recovery(*decision.status.last_disruption);
    book_.note_progress(seen.processes, decision.status, clock_.now());
    job_.status = decision.status;
    if (auto stored = store_status(); !stored) return stored;
    for (const auto& action : decision.actions) {
      if (auto done = std::visit([this](const auto& a) { return act(a); }, action); !done) return done;
    }
    news_.tell_first_failure(job_.status);
    coordinator_.announce(key, decision.announcement);
    return decision.actions.empty() ? Result<void>() : store_status();
  }

  Result<void> act(const core::CreatePod& action) {
    auto started = start(action);
    if (started || !(started.error().is_retryable() || roles_run_.contains(action.pod.role))) return started;
    // What has run can run: the disk may be full for a while, or its file system away. It is asked for again
    // at the next look, a second from now.
    if (refused_start_ != started.error().message()) news_.say(started.error().message());
    refused_start_ = started.error().message();
    return {};
  }
  Result<void> start(const core::CreatePod& action) {
    // Those that are on their way out have all nodes; the end of one wakes us, and it is asked for again.
    if (!machine_.has_room_for(action.pod)) {
      without_node_.push_back(action.pod.name);
      return {};
    }
    if (action.pod.group_seat && action.pod.group_seat->first_rank == 0) {
      // Another port for each group: what is left of the one before may still have that one.
      auto port = find_free_port();
      if (!port) return port.error();
      group_port_ = *port;
    }
    folder_.make_logs();
    if (auto created = machine_.create(action.pod); !created) return created;
    refused_start_.clear();
    roles_run_.insert(action.pod.role);
    wakeup_.notify();  // its UID is to be noted
    return {};
  }
  Result<void> act(const core::DeletePod& action) {
    machine_.remove(action.uid);
    return {};
  }
  // The file that the job came from is its user's: ttlSecondsAfterFinished is a cluster's, and said so.
  static Result<void> act(const core::DeleteJob&) { return {}; }
  Result<void> act(const core::EmitEvent& action) {
    if (news_.tell_event(action.message)) events_.tell(action.reason, action.message, clock_.wall_now());
    return {};
  }

  nlohmann::json look() {
    if (events_.has_begun()) events_.observe(job_.status, machine_.pods(), clock_.wall_now());
    nlohmann::json document = book_.describe();
    document["job"] = api::encode_training_job(job_);
    document["members"] = machine_.describe();
    document["nodes"] = machine_.nodes().describe();
    document["runner_pid"] = ::getpid();
    document["saves"] = saves_place_;
    if (options_.show) options_.show(document);
    return document;
  }
  Result<void> store_status() { return status_file_.put(look(), clock_.now()); }

  Duration next_sleep() const {
    const Timestamp now = clock_.now();
    Timestamp next = now + kSleepMax;
    for (const auto& moment : {wake_at_, controls_.next()})
      if (moment) next = std::min(next, *moment);
    return std::max(next - now, Duration(milliseconds(1)));
  }

  int stop_for_user() {
    const std::uint32_t said = job_.spec.checkpoint_policy.grace_seconds;
    const std::uint32_t grace = said == 0 ? kGraceSeconds : said;
    machine_.interrupt_all();
    for (const Timestamp end = clock_.now() + kOneWish; clock_.now() < end;)
      static_cast<void>(wakeup_.sleep(end - clock_.now()));
    news_.say("stopping: members save and leave, within " + std::to_string(grace) +
              " s; Ctrl-C again stops at once");
    if (!drain(seconds(grace))) news_.say("members that had not left yet were killed");
    news_.tell_stop(job_.status);
    return static_cast<int>(ExitCode::kInterruptedByUser);
  }

  void tell_to_stop(const std::string& reason) {
    coordinator_.announce(
        api::key_of(job_),
        {.attempt = job_.status.attempt, .world = {}, .current = {}, .stop = true, .reason = reason});
  }

  // Gives members time to leave by themselves, then none. Whether all did.
  [[nodiscard]] bool drain(Duration at_most) {
    wakeup_.watch(-1);  // who asks now is told by our end
    const Timestamp deadline = clock_.now() + at_most;
    for (machine_.observe(); !machine_.is_quiet() && clock_.now() < deadline; machine_.observe()) {
      if (wakeup_.sleep(milliseconds(50)) > 0) break;
    }
    const bool has_left = machine_.is_quiet();
    machine_.remove_all();
    while (!machine_.is_quiet()) {
      static_cast<void>(wakeup_.sleep(milliseconds(10)));
      machine_.observe();
    }
    machine_.observe();
    core::note_progress(coordinator_.processes(api::key_of(job_)), job_.status);  // the last beats
    core::stop_time(clock_.wall_now(), job_.status);
    static_cast<void>(status_file_.put_last(look()));
    events_.end(clock_.wall_now());
    return has_left;
  }

  const RunOptions& options_;
  const Clock& clock_;
  const RunFolder folder_;
  Wakeup wakeup_;
  Supplies supplies_;
  api::TrainingJob job_;
  const std::string saves_place_;
  RunNews news_;
  Machine machine_;
  RunBook book_;
  Controls controls_;
  coordinator::Coordinator coordinator_;
  std::unique_ptr<http::HttpServer> server_;  // after the coordinator: it stops before what it calls is gone
  std::optional<Timestamp> wake_at_;
  std::vector<std::string> without_node_;  // of the last decision
  std::string refused_start_;        // the last one's reason, for which the machine is short of something
  std::set<std::string> roles_run_;  // roles of which a member was started
  std::optional<core::RecoveryWatch> recovery_;
  RunEvents events_{[this](const std::string& line) { folder_.append_event(line); }};
  StatusFile status_file_{[this](const nlohmann::json& document) { return folder_.write_status(document); },
                          [this](const std::string& sentence) { news_.say(sentence); }};
  std::uint16_t group_port_ = 0;
};

}  // namespace

Result<int> run(const RunOptions& options, const Clock& clock) {
  auto wakeup = Wakeup::open();  // first: threads made later inherit the blocked signals
  if (!wakeup) return wakeup.error();
  if (auto fits = check_room(options.job, look_for_room(options.losses)); !fits) return fits.error();
  auto folder = RunFolder::open(options.folder);
  if (!folder) return folder.error();
  auto supplies = Supplies::draw();
  if (!supplies) return supplies.error();
  Runner runner(options, clock, std::move(*folder), std::move(*wakeup), std::move(*supplies));
  return runner.run();
}

}  // namespace ratoon::local
