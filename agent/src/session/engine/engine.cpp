#include "agent/src/session/engine/engine.h"

#include <algorithm>
#include <utility>

#include <ratoon/schedule.h>

#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/seed_of.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/utf8.h"

namespace ratoon {

using session::fail;

namespace {

session::HangLimits read_valid_hang_limits(const Options& options) {
  const auto limits = session::read_hang_limits(options);
  if (!limits) fail(ExitCode::kConfiguration, limits.error().message());
  return *limits;
}

}  // namespace

Session::Engine::Engine(const Dependencies& dependencies, Assignment assignment)
    : options_(dependencies.options),
      locations_(dependencies.places),
      saver_(dependencies.saver),
      link_(dependencies.link),
      clock_(dependencies.clock),
      meters_(dependencies.meters),
      accounts_(dependencies.accounts ? dependencies.accounts
                                      : std::make_shared<session::TimeAccounts>(clock_)),
      assignment_(std::move(assignment)),
      history_disk_(dependencies.history_disk),
      drain_(dependencies.drain),
      numerics_(dependencies.numerics),
      start_snapshot_(dependencies.start_snapshot),
      phase_watch_(read_valid_hang_limits(options_)),
      joined_at_(clock_.now()) {
  position_.attempt = assignment_.attempt;
  position_.milestone = session::Milestone::kJoined;
  meters_.attempt = assignment_.attempt.value();
  meters_.world_size = assignment_.world_size;
  if (const auto& losses = assignment_.losses) {
    meters_.lost_members.disruption = losses->disruption;
    meters_.lost_members.application = losses->application;
    meters_.lost_members.hung = losses->hung;
    meters_.lost_members.are_counted = true;
  }
  locations_.begin_attempt(assignment_,
                           [this] { return link_.world_status() == session::WorldStatus::kGoOn; });
  auto world = locations_.save_context(assignment_);
  world.before_commit = [history = history_] {
    if (*history) (*history)->sync();
  };
  saver_.begin_attempt(world);
  enter(ProcessPhase::kLoad);
}

Session::Engine::~Engine() {
  if (data::wait_listener() == this) data::wait_listener() = nullptr;
}

void Session::Engine::begin_wait() {
  phase_before_wait_ = position_.phase;
  data_wait_error_ = nullptr;
  enter_phase_within_step(ProcessPhase::kData);
}

void Session::Engine::track(std::string name, session::TrackedObjects::Save save,
                            session::TrackedObjects::Load load, session::ObjectKind kind) {
  if (has_begun_)
    fail(ExitCode::kConfiguration, "'" + name + "' is tracked too late: call track() before steps()");
  tracked_objects_.add(std::move(name), std::move(save), std::move(load), kind);
}

std::uint64_t Session::Engine::seed_of(std::string_view name) const {
  const Step begins = assignment_.resume ? assignment_.resume->step : Step(0);
  return session::seed_of(seed(), begins, assignment_.rank, name);
}

std::uint64_t Session::Engine::first_seed_of(std::string_view name) const {
  return session::seed_of(seed(), Step(0), assignment_.rank, name);
}

StreamOptions Session::Engine::stream_options(StreamOptions of_program) const {
  of_program.seed = options_.seed.value_or(of_program.seed);
  of_program.global_batch = options_.global_batch.value_or(of_program.global_batch);
  return of_program;
}

void Session::Engine::end_reporting() {
  data::wait_listener() = nullptr;
  if (link_.is_hung()) accounts_->note_hang();
  accounts_->leave();
  reporting_.reset();
  position_.is_doing_final_work = true;
  position_.allowed.reset();
  link_.note_position(position_);
}

void Session::Engine::report(std::string_view name, double value, std::uint64_t samples) {
  if (!schedule_) fail(ExitCode::kConfiguration, "report() must be called in the loop over steps()");
  if (reporting_) reporting_->report(name, value, samples);
  rank_means_.report(name, value, samples);
}

void Session::Engine::take_sums(std::span<const float, session::RankMeans::kNumbers> sums_of_all) {
  const auto means = rank_means_.take(sums_of_all, assignment_.world_size);
  show_means(means);
  if (!reporting_) return;
  for (const auto& mean : means)
    if (mean.is_of_all_ranks) reporting_->replace(mean.name, mean.weighted_sum, mean.samples);
}

void Session::Engine::show_means(const std::vector<session::RankMeans::Mean>& means) {
  for (const auto& mean : means)
    if (mean.samples > 0) meters_.values.set(mean.name, mean.value());
}

void Session::Engine::show_progress() {
  const auto& position = schedule_->position();
  const auto total = static_cast<double>(schedule_->until().total(position));
  const auto done = static_cast<double>(count_of(position, schedule_->until().unit()));
  meters_.progress = total > 0 ? std::min(1.0, done / total) : 1.0;
  meters_.samples = position.samples;
  meters_.epoch_samples = position.epoch_samples;
}

void Session::Engine::enter(ProcessPhase phase) {
  position_.phase = phase;
  if (position_.committed) meters_.durable_step = position_.committed->step.value();
  const Timestamp now = clock_.now();
  accounts_->enter(phase, position_.step.value());
  phase_watch_.enter(phase, position_.step, now);
  note_saves_under_way();
  position_.is_doing_final_work = schedule_ && schedule_->is_over();
  // A validation may read samples and add up over ranks for as long as it lasts.
  const bool may_be_in_validation = phase == ProcessPhase::kData || phase == ProcessPhase::kCollective;
  is_validating_ = phase == ProcessPhase::kValidate || (is_validating_ && may_be_in_validation);
  const bool has_limit = !position_.is_doing_final_work && !is_validating_;
  position_.allowed = has_limit ? phase_watch_.phase_time_limit() : std::nullopt;
  link_.note_position(position_);
}

void Session::Engine::enter_phase_within_step(ProcessPhase phase) {
  if (has_begun_) enter(phase);
}

void Session::Engine::check_epochs_are_counted() const {
  if (schedule_->position().epoch_samples != 0) return;
  fail(ExitCode::kConfiguration,
       "on_epoch_begin() and on_epoch_end() count the epochs of a stream: call session.follow(stream) before "
       "steps()");
}

void Session::Engine::on_epoch_begin(EpochHook act) {
  on_epoch_begin_ = std::move(act);
  if (schedule_) check_epochs_are_counted();
}

void Session::Engine::on_epoch_end(EpochHook act) {
  on_epoch_end_ = std::move(act);
  if (schedule_) check_epochs_are_counted();
}

void Session::Engine::begin_epoch() {
  if (!beginning_epoch_ || !on_epoch_begin_ || is_at_end()) return;
  enter(ProcessPhase::kValidate);
  const EpochHook act = on_epoch_begin_;  // `act` may call on_epoch_begin()
  act(*beginning_epoch_);
  beginning_epoch_.reset();  // a save from now on contains what `act` changed
  enter(ProcessPhase::kCompute);
}

void Session::Engine::end_epochs(std::uint64_t samples_before) {
  const RunPosition& position = schedule_->position();
  beginning_epoch_.reset();
  if (position.epoch_samples == 0) return;
  const std::uint64_t begun = samples_before / position.epoch_samples;
  const std::uint64_t now = position.samples / position.epoch_samples;
  if (now != begun) beginning_epoch_ = now;
  for (std::uint64_t number = begun; number < now && on_epoch_end_; ++number) {
    enter(ProcessPhase::kValidate);
    const EpochHook act = on_epoch_end_;  // `act` may call on_epoch_end()
    act(number);
  }
}

std::uint32_t Session::Engine::take_agreed_requests() {
  const bool has_program_agreed = has_agreed_;
  // With a single process, the requests need no collective.
  if (assignment_.world_size == 1) agree(requests());
  if ((schedule_->needs_agreement() || requests_.needs_agreement()) && !has_agreed_) {
    fail(ExitCode::kConfiguration,
         "if several ranks save or end by time, by save() or by finish(), they must exchange their requests "
         "in each step: call average_gradients() or agree(), or count in steps (st), epochs (ep) or samples "
         "(sp)");
  }
  has_agreed_ = false;
  const std::uint32_t agreed = std::exchange(agreed_requests_, 0);
  if ((requests_.bits() & ~agreed) != 0) {
    fail(ExitCode::kConfiguration,
         "agree() was called without the requests of this rank: call it once a step, with the requests() of "
         "all ranks combined by bitwise or");
  }
  // If the program calls agree() in every step, its requests take effect one step later. This rule also
  // applies to one process, so that a request takes effect in the same step as with many processes.
  return agreed | requests_.end_step(has_program_agreed || assignment_.world_size > 1
                                         ? session::EffectTime::kOneStepLater
                                         : session::EffectTime::kAtOnce);
}

void Session::Engine::end_step() {
  if (!schedule_)
    fail(ExitCode::kConfiguration, "a step ended before the first step began: call steps() or resume()");
  if (schedule_->is_over()) refuse_step_after_end();
  const Timestamp now = clock_.now();
  meters_.step_times.observe(now - step_began_);
  drain_->note_step(now - step_began_);
  const auto wanted = link_.outside_requests();
  drain_->receive_order(wanted, now);
  // The number falls when a node that gave notice is gone or has no time left. The next node raises it again.
  last_served_save_request_ = std::min(last_served_save_request_, wanted.save_request);
  if (const std::string news = drain_->take_notice_message(now); !news.empty()) say(news);
  if (position_.milestone != session::Milestone::kStepped) {
    save_costs_.recovery = now - joined_at_;
    meters_.last_recovery.first_step = (now - step_began_).count();
  }
  position_.step = position_.step.next();
  position_.milestone = session::Milestone::kStepped;
  meters_.step = position_.step.value();
  const std::uint64_t samples_before = schedule_->position().samples;
  is_ending_step_ = true;
  schedule_->end_step(data(), now);
  end_epochs(samples_before);
  show_progress();
  show_means(
      rank_means_.take_own_means());  // values that were reported after the sums still belong to this step
  std::uint32_t agreed = take_agreed_requests();
  schedule_->apply_requests(agreed);
  if (is_at_end()) agreed |= requests_.end_run(agreed);
  if (reporting_) {
    reporting_->end_step(schedule_->position());
    position_.outlook = reporting_->outlook(schedule_->position());
  }
  was_end_agreed_ = (agreed & session::control::kFinish) != 0;
  if (was_end_agreed_) store_finish_reason(requests_.due().finish);
  if (was_end_agreed_ && is_rank_0()) report_finished();
  // After the last step, the state is not handed over to a replacement, because finish() waits for the last
  // checkpoint.
  const bool is_handed_over = (agreed & session::control::kLeave) != 0 && !is_at_end();
  const bool is_stopped = (agreed & session::control::kStop) != 0 && !is_at_end();
  const bool is_best = std::exchange(is_save_due_, false);
  is_ending_step_ = false;
  best_checkpoints_.end_step();
  if (schedule_->is_save_due() || is_best || is_handed_over || is_stopped) {
    enter(ProcessPhase::kCompute);  // a validation at the end of an epoch is over
    for (const auto& check : before_saves_of_all_) check();
    save(agreed);
  }
  show_best_checkpoints();
  if (is_stopped) save_and_exit(agreed);
  if ((agreed & session::control::kStopWithoutSave) != 0 && !is_at_end())
    throw drain_->exit_for_drain(agreed, position_.step, false);
  if (is_handed_over) hand_over();
  static_cast<void>(poll_saves());
  enter(ProcessPhase::kCompute);
  check();
  leave_if_drained();
  begin_epoch();
  drain_->reinstall_signal_handlers();
  step_began_ = clock_.now();
}

void Session::Engine::show_best_checkpoints() {
  if (!position_.outlook) return;
  position_.outlook->best = cut_text(as_utf8(best_checkpoints_.text()), kBestTextBytesMax);
}

SaveTicket Session::Engine::ask_to_save(const std::string& keep) {
  if (!schedule_) fail(ExitCode::kConfiguration, "save() must be called in the loop over steps()");
  return requests_.ask_to_save(keep);
}

void Session::Engine::check_save_best(std::string_view name, const KeepBest& how) {
  if (!schedule_) {
    fail(ExitCode::kConfiguration,
         "save_best() must be called in the loop over steps(), or in on_epoch_end(): its step is saved when "
         "the "
         "step ends");
  }
  if (const std::string error = best_checkpoints_.note_save_best_call(name, how); !error.empty())
    fail(ExitCode::kConfiguration, error);
}

void Session::Engine::unpin(std::uint64_t step) {
  const std::string called = "unpin(" + std::to_string(step) + ")";
  if (!schedule_) fail(ExitCode::kConfiguration, called + " must be called in the loop over steps()");
  if (step > position_.step.value()) {
    fail(ExitCode::kConfiguration,
         called + " was called " + describe_position() +
             ": unpin() takes the step of an earlier checkpoint, as `ratoon checkpoint list` shows it");
  }
  if (requests_.unpin(step)) return;
  fail(ExitCode::kConfiguration, called + ": at most " + std::to_string(checkpoint::kUnpinnedOfRankMax) +
                                     " checkpoints are unpinned between two saves: save more often");
}

void Session::Engine::finish_early(const std::string& reason) {
  if (!schedule_) fail(ExitCode::kConfiguration, "finish() must be called in the loop over steps()");
  requests_.finish(reason);
}

void Session::Engine::say(const std::string& sentence) const {
  if (reporting_) reporting_->clear_progress_bar();
  session::say(sentence);
}

void Session::Engine::leave_if_drained() {
  if (is_at_end()) return;
  const bool agrees = has_ever_agreed_ || assignment_.world_size == 1;
  if (!agrees && drain_->leaves_with_next_save()) {
    if (saved_step_ == position_.step) save_and_exit(session::control::kStop | session::control::kInterrupt);
    if (is_rank_0() && !std::exchange(has_reported_save_wait_, true))
      say("Ctrl-C: these ranks do not agree on requests in each step, so they train until the next save, for "
          "at most --grace-seconds; a second Ctrl-C stops them at once");
  }
  if (const auto why = drain_->find_exit_failure(clock_.now(), agrees)) throw *why;
}

void Session::Engine::check() const {
  if (const auto why = locations_.find_lost_reason()) fail(ExitCode::kStartAgain, *why);
  switch (link_.world_status()) {
    case session::WorldStatus::kGoOn:
      return;
    case session::WorldStatus::kWorldChanged:
      throw AttemptOver(assignment_.attempt, link_.reason());
    case session::WorldStatus::kStop:
      fail(ExitCode::kPreempted, link_.reason());
    case session::WorldStatus::kFenced:
      fail(ExitCode::kStartAgain, link_.reason());
  }
}

std::uint32_t Session::Engine::requests() const {
  const auto wanted = link_.outside_requests();
  std::uint32_t bits = schedule_ ? schedule_->requests() : 0;
  if (wanted.save_request > last_served_save_request_ && !is_save_under_way())
    bits |= session::control::kSave;
  if (wanted.hand_over == assignment_.attempt) bits |= session::control::kLeave;
  bits |= requests_.bits();
  bits |= drain_->requests(wanted, clock_.now());
  return bits;
}

Rendezvous Session::Engine::rendezvous() const {
  auto meeting = session::split_address(assignment_.rendezvous);
  return {.host = std::move(meeting.host),
          .port = meeting.port,
          .listening_fd = is_rank_0() ? link_.listening_fd() : -1,
          .own_host = link_.own_host(),
          .secret = assignment_.secret};
}

}  // namespace ratoon
