#include "operator/local/runner.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"
#include "base/core/random_name.h"
#include "base/http/server.h"
#include "operator/api/trainer_environment.h"
#include "operator/coordinator/coordinator.h"
#include "operator/core/duration.h"
#include "operator/core/progress.h"
#include "operator/core/reconcile.h"
#include "operator/core/roster.h"
#include "operator/local/controls.h"
#include "operator/local/machine.h"
#include "operator/local/run_book.h"
#include "operator/local/run_events.h"
#include "operator/local/run_folder.h"
#include "operator/local/staging_folder.h"
#include "operator/local/wakeup.h"

namespace ratoon::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSleepMax = seconds(1);
constexpr Duration kDrainMax = seconds(10);
constexpr std::uint32_t kGraceSeconds = 30;  // as a pod has, where the job says nothing
constexpr Duration kLongWait = seconds(10);

// Takes the same time for every wrong token of the right length.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

struct Lifeline {
  UniqueFd read_end;   // members inherit it and see its end when we are gone
  UniqueFd write_end;  // ours alone
};

Result<Lifeline> open_lifeline() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "making the members' lifeline");
  return Lifeline{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class Runner {
 public:
  Runner(const RunOptions& options, const Clock& clock, RunFolder folder, Wakeup wakeup, Lifeline lifeline,
         std::string token)
      : options_(options),
        clock_(clock),
        folder_(std::move(folder)),
        wakeup_(std::move(wakeup)),
        lifeline_(std::move(lifeline)),
        token_(std::move(token)),
        job_(options.job),
        // As many as members, and one to go to when a node is lost; or those of the trace.
        machine_(options.losses.trace.empty() ? NodePool(count_members() + 1) : NodePool(),
                 [this](const api::Pod& pod) { return plan(pod); }),
        controls_(machine_, book_, clock, options.print),
        coordinator_(clock, {.authenticate = [this](std::string_view shown,
                                                    const ProcessIdentity&) { return authenticate(shown); },
                             .on_news = [this](const JobKey&) { wakeup_.notify(); }}) {}

  Result<int> run() {
    if (auto ready = prepare(); !ready) return ready.error();
    if (job_.status.phase == api::JobPhase::kSucceeded) {
      options_.print(job_.meta.name + " has completed already; to start over, pass " +
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
    if (job_.status.phase == api::JobPhase::kSucceeded) return static_cast<int>(ExitCode::kDone);
    options_.print("what the members printed: " + folder_.log_path("*").string());
    return 1;
  }

 private:
  std::size_t count_members() const { return core::desired_members(options_.job).size(); }
  bool is_over() const {
    return job_.status.phase == api::JobPhase::kSucceeded || job_.status.phase == api::JobPhase::kFailed;
  }

  Result<void> prepare() {
    auto stored = folder_.read_status(job_);
    if (!stored) return stored.error();
    if (auto begun = begin_from(*stored); !begun) return begun;
    prepare_staging();
    tell_what_counts_no_more(stored->has_value());
    tell_what_never_happens_here();
    if (auto written = folder_.write_token(token_); !written) return written;
    if (job_.status.phase != api::JobPhase::kSucceeded) events_.begin(job_, clock_.wall_now());
    auto server =
        http::HttpServer::start({.port = 0}, [this](http::ServerRequest request, http::Responder responder) {
          coordinator_.handle(request, std::move(responder));
        });
    if (!server) return server.error().with_context("opening the coordinator's port on 127.0.0.1");
    server_ = std::move(*server);
    controls_.follow(options_.losses);
    controls_.listen(folder_.path());
    wakeup_.watch(controls_.fd());
    return {};
  }

  // With what the run before left, if it is to go on.
  Result<void> begin_from(const std::optional<api::TrainingJobStatus>& stored) {
    if (options_.starts_over) {
      job_.status = fresh_status(stored.value_or(api::TrainingJobStatus()));
      const auto before = folder_.set_aside(clock_.wall_now(), [this] { return store_status(); });
      if (!before) return before.error();
      options_.print("what the runs before left is in " + before->string());
      return {};
    }
    if (stored) job_.status = recover_status(*stored);
    const auto document = RunFolder::read_document(folder_.path());
    if (document && *document) book_.restore(**document);
    return {};
  }

  void prepare_staging() {
    if (job_.spec.checkpoint_policy.staging_memory_mib == 0) return;
    auto staging = StagingFolder::open(StagingFolder::kMemoryRoot, folder_.path());
    if (staging)
      staging_ = *std::move(staging);
    else
      options_.print("what members stage is in their own memory, and ends with them: " +
                     staging.error().message());
  }

  void tell_what_counts_no_more(bool has_begun) const {
    if (!has_begun || !job_.spec.checkpoint_policy.overwrites) return;
    options_.print("checkpointPolicy.overwrite counts for the first run in a folder only: this one goes on");
  }

  // Processes end with codes and signals; evictions and memory limits are a cluster's.
  void tell_what_never_happens_here() const {
    const auto& rules = job_.spec.restart_policy.rules;
    if (std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return !rule.reasons.empty(); }))
      options_.print("restartPolicy.rules: reasons are a cluster's words, and never met here");
    if (job_.spec.ttl_seconds_after_finished)
      options_.print("ttlSecondsAfterFinished: nothing is deleted here; the run's folder stays");
  }

  Result<void> authenticate(std::string_view shown) const {
    if (is_equal(shown, token_)) return {};
    return Error(ErrorKind::kPermissionDenied, "the token is not this run's");
  }

  LaunchPlan plan(const api::Pod& pod) const {
    namespace env = names::env;
    const auto& spec = job_.spec;
    const auto role =
        std::find_if(spec.roles.begin(), spec.roles.end(), [&](const auto& r) { return r.name == pod.role; });
    std::map<std::string, std::string> common = role->environment;
    common[env::kJobNamespace] = job_.meta.name_space;
    common[env::kJobName] = job_.meta.name;
    common[env::kRole] = pod.role;
    common[env::kIndex] = std::to_string(pod.index);
    common[env::kIncarnation] = std::to_string(pod.incarnation);
    common[env::kMemberUid] = pod.uid;
    common[env::kProcessesPerNode] = std::to_string(spec.processes_per_node);
    common[env::kCoordinatorUrl] = "http://127.0.0.1:" + std::to_string(server_->port());
    common[env::kTokenFile] = folder_.token_path().string();
    common[env::kSaveFolder] = folder_.checkpoints_path().string();
    // What the template says of these wins, as on a cluster.
    common.merge(api::trainer_environment(job_));
    if (staging_) common.try_emplace(env::kStagingFolder, staging_->path().string());
    common[env::kLifelineFd] = "3";
    LaunchPlan plan{.command = role->command,
                    .environments = {},
                    .log_path = folder_.log_path(pod.name).string(),
                    .lifeline_fd = lifeline_.read_end.get()};
    for (std::uint32_t local_rank = 0; local_rank < spec.processes_per_node; ++local_rank) {
      plan.environments.push_back(common);
      plan.environments.back()[env::kLocalRank] = std::to_string(local_rank);
    }
    return plan;
  }

  Result<void> decide() {
    controls_.act();
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
    print_progress(decision.status);
    print_long_wait(decision.status);
    if (decision.status.last_disruption && decision.status.last_disruption != job_.status.last_disruption)
      book_.note_recovery(*decision.status.last_disruption);
    book_.note_progress(seen.processes, decision.status, clock_.now());
    job_.status = decision.status;
    if (auto stored = store_status(); !stored) return stored;
    for (const auto& action : decision.actions) {
      if (auto done = std::visit([this](const auto& a) { return act(a); }, action); !done) return done;
    }
    coordinator_.announce(key, decision.announcement);
    return store_status();
  }

  Result<void> act(const core::CreatePod& action) {
    // Those that are on their way out have all nodes; the end of one wakes us, and it is asked for again.
    if (!machine_.has_room_for(action.pod)) return {};
    auto created = machine_.create(action.pod);
    if (created) wakeup_.notify();  // its UID is to be noted
    return created;
  }
  Result<void> act(const core::DeletePod& action) {
    machine_.remove(action.uid);
    return {};
  }
  // The file that the job came from is its user's: ttlSecondsAfterFinished is a cluster's, and said so.
  static Result<void> act(const core::DeleteJob&) { return {}; }
  Result<void> act(const core::EmitEvent& action) {
    // A loss that ends the job is two events, for a cluster's list of them, and one line here.
    if (action.message != last_news_) {
      options_.print(action.message);
      events_.tell(action.reason, action.message, clock_.wall_now());
    }
    last_news_ = action.message;
    return {};
  }

  void print_progress(const api::TrainingJobStatus& next) const {
    if (!next.last_checkpoint || next.last_checkpoint == job_.status.last_checkpoint) return;
    options_.print("checkpoint of step " + std::to_string(next.last_checkpoint->step.value()) +
                   " is durable (attempt " + std::to_string(next.last_checkpoint->attempt.value()) + ")");
  }

  // A world that does not come together is no news by itself; that it takes long is.
  void print_long_wait(const api::TrainingJobStatus& next) {
    if (next.is_formed || next.message != job_.status.message) waiting_since_ = clock_.now();
    if (clock_.now() - waiting_since_ < kLongWait) return;
    options_.print("still waiting: " + next.message + "; logs are in " + folder_.log_path("*").string());
    waiting_since_ = clock_.now();
  }

  Result<void> store_status() {
    if (events_.has_begun()) events_.observe(job_.status, machine_.pods(), clock_.wall_now());
    nlohmann::json document = book_.describe();
    document["job"] = api::encode_training_job(job_);
    document["members"] = machine_.describe();
    document["nodes"] = machine_.nodes().describe();
    document["runner_pid"] = ::getpid();
    if (options_.show) options_.show(document);
    if (document == stored_) return {};
    if (auto written = folder_.write_status(document); !written) return written;
    stored_ = std::move(document);
    return {};
  }

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
    options_.print("stopping: members save and leave, within " + std::to_string(grace) +
                   " s; Ctrl-C again stops at once");
    machine_.interrupt_all();
    if (!drain(seconds(grace))) options_.print("members that had not left yet were killed");
    options_.print(
        "stopped at step " + std::to_string(job_.status.step.value()) + "; the same command goes on from " +
        (job_.status.last_checkpoint ? "step " + std::to_string(job_.status.last_checkpoint->step.value())
                                     : std::string("the beginning: nothing was saved yet")));
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
    static_cast<void>(store_status());
    events_.end(clock_.wall_now());
    return has_left;
  }

  const RunOptions& options_;
  const Clock& clock_;
  const RunFolder folder_;
  Wakeup wakeup_;
  const Lifeline lifeline_;
  const std::string token_;
  api::TrainingJob job_;
  std::optional<StagingFolder> staging_;
  Machine machine_;
  RunBook book_;
  Controls controls_;
  coordinator::Coordinator coordinator_;
  std::unique_ptr<http::HttpServer> server_;  // after the coordinator: it stops before what it calls is gone
  std::optional<Timestamp> wake_at_;
  std::optional<core::RecoveryWatch> recovery_;
  Timestamp waiting_since_ = clock_.now();
  std::string last_news_;
  RunEvents events_{[this](const std::string& line) { folder_.append_event(line); }};
  nlohmann::json stored_;
};

}  // namespace

Result<int> run(const RunOptions& options, const Clock& clock) {
  auto wakeup = Wakeup::open();  // first: threads made later inherit the blocked signals
  if (!wakeup) return wakeup.error();
  auto folder = RunFolder::open(options.folder);
  if (!folder) return folder.error();
  auto lifeline = open_lifeline();
  if (!lifeline) return lifeline.error();
  auto token = draw_secret(32);
  if (!token) return token.error();
  Runner runner(options, clock, std::move(*folder), std::move(*wakeup), std::move(*lifeline),
                std::move(*token));
  return runner.run();
}

}  // namespace ratoon::local
