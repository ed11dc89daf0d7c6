#include "agent/src/session/engine/engine.h"

#include <algorithm>
#include <utility>

#include <ratoon/schedule.h>

#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/seed_of.h"
#include "agent/src/session/telemetry/say.h"

namespace ratoon {

using session::fail;

namespace {

session::HangLimits limits_of(const Options& options) {
  const auto limits = session::read_hang_limits(options);
  if (!limits) fail(ExitCode::kConfiguration, limits.error().message());
  return *limits;
}

}  // namespace

Session::Engine::Engine(const Dependencies& dependencies, Assignment assignment)
    : options_(dependencies.options),
      places_(dependencies.places),
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
      phases_(limits_of(options_)),
      joined_(clock_.now()) {
  position_.attempt = assignment_.attempt;
  position_.milestone = session::Milestone::kJoined;
  meters_.attempt = assignment_.attempt.value();
  meters_.world_size = assignment_.world_size;
  if (const auto& losses = assignment_.losses) {
    meters_.run_losses.disruption = losses->disruption;
    meters_.run_losses.application = losses->application;
    meters_.run_losses.hung = losses->hung;
    meters_.run_losses.are_counted = true;
  }
  places_.begin_attempt(assignment_, [this] { return link_.world_status() == session::WorldStatus::kGoOn; });
  auto world = places_.saving_world(assignment_);
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
  waited_from_ = position_.phase;
  failed_wait_ = nullptr;
  enter_within_step(ProcessPhase::kData);
}

void Session::Engine::track(std::string name, session::TrackedObjects::Save save,
                            session::TrackedObjects::Load load, session::ObjectKind kind) {
  if (has_begun_)
    fail(ExitCode::kConfiguration, "'" + name + "' is tracked too late: call track() before steps()");
  tracked_.add(std::move(name), std::move(save), std::move(load), kind);
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
  position_.is_winding_up = true;
  position_.allowed.reset();
  link_.note(position_);
}

void Session::Engine::report(std::string_view name, double value, std::uint64_t samples) {
  if (!schedule_) fail(ExitCode::kConfiguration, "report() must be called in the loop over steps()");
  if (reporting_) reporting_->report(name, value, samples);
  means_.report(name, value, samples);
}

void Session::Engine::take_sums(std::span<const float, session::RankMeans::kNumbers> sums_of_all) {
  const auto means = means_.take(sums_of_all, assignment_.world_size);
  show(means);
  if (!reporting_) return;
  for (const auto& mean : means)
    if (mean.is_of_all_ranks) reporting_->replace(mean.name, mean.weighted_sum, mean.samples);
}

void Session::Engine::show(const std::vector<session::RankMeans::Mean>& means) {
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
  phases_.enter(phase, position_.step, now);
  note_saves_under_way();
  position_.is_winding_up = schedule_ && schedule_->is_over();
  position_.allowed = position_.is_winding_up ? std::nullopt : phases_.allowed();
  link_.note(position_);
}

void Session::Engine::enter_within_step(ProcessPhase phase) {
  if (has_begun_) enter(phase);
}

void Session::Engine::on_epoch_end(std::function<void(std::uint64_t epoch)> act) {
  if (has_begun_)
    fail(ExitCode::kConfiguration, "on_epoch_end() was called too late: call it before steps()");
  on_epoch_end_ = std::move(act);
}

void Session::Engine::end_epochs(std::uint64_t samples_before) {
  if (!on_epoch_end_) return;
  const RunPosition& position = schedule_->position();
  const Period epoch{.count = position.epoch_samples};
  const std::uint64_t ended = times_due(position.samples, epoch);
  for (std::uint64_t number = times_due(samples_before, epoch); number < ended; ++number) {
    enter(ProcessPhase::kValidate);
    on_epoch_end_(number);
  }
}

std::uint32_t Session::Engine::take_agreed() {
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
  const std::uint32_t agreed = std::exchange(agreed_, 0);
  if ((requests_.bits() & ~agreed) != 0) {
    fail(ExitCode::kConfiguration,
         "agree() was called without the requests of this rank: call it once a step, with the requests() of "
         "all ranks combined by bitwise or");
  }
  // If the program calls agree() in every step, its requests take effect in the next step, even with one
  // process. A request of the program thus takes effect in the same step with one process and with many.
  return agreed | requests_.end_step(has_program_agreed || assignment_.world_size > 1
                                         ? session::TakesEffect::kOneStepLater
                                         : session::TakesEffect::kAtOnce);
}

void Session::Engine::end_step() {
  if (!schedule_)
    fail(ExitCode::kConfiguration, "a step ended before the first step began: call steps() or resume()");
  if (schedule_->is_over()) refuse_step_after_end();
  const Timestamp now = clock_.now();
  meters_.step_times.observe(now - step_began_);
  drain_->note_step(now - step_began_);
  drain_->hear(link_.wanted(), now);
  if (const std::string news = drain_->take_news(now); !news.empty()) say(news);
  if (position_.milestone != session::Milestone::kStepped) {
    save_costs_.recovery = now - joined_;
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
  show(means_.take_own());  // values that were reported after the sums still belong to this step
  std::uint32_t agreed = take_agreed();
  schedule_->take(agreed);
  if (is_at_end()) agreed |= requests_.end_run(agreed);
  if (reporting_) {
    reporting_->end_step(schedule_->position());
    position_.outlook = reporting_->outlook(schedule_->position());
  }
  is_finished_ = (agreed & session::control::kFinish) != 0;
  if (is_finished_) tell_finish_reason(requests_.due().finish);
  if (is_finished_ && is_first()) say_that_it_is_finished();
  // After the last step, the state is not handed over to a replacement, because finish() waits for the last
  // checkpoint.
  const bool is_handed_over = (agreed & session::control::kLeave) != 0 && !is_at_end();
  const bool is_stopped = (agreed & session::control::kStop) != 0 && !is_at_end();
  const bool is_best = std::exchange(is_save_due_, false);
  is_ending_step_ = false;
  best_.end_step();
  if (schedule_->is_save_due() || is_best || is_handed_over || is_stopped) {
    for (const auto& check : before_saves_of_all_) check();
    save(agreed);
  }
  if (is_stopped) stop(agreed);
  if ((agreed & session::control::kGo) != 0 && !is_at_end())
    throw drain_->exit_for_drain(agreed, position_.step, false);
  if (is_handed_over) hand_over();
  static_cast<void>(look_at_saves());
  enter(ProcessPhase::kCompute);
  check();
  leave_if_drained();
  drain_->keep_hearing();
  step_began_ = clock_.now();
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
  if (const std::string error = best_.note_call(name, how); !error.empty())
    fail(ExitCode::kConfiguration, error);
}

void Session::Engine::finish_early(const std::string& reason) {
  if (!schedule_) fail(ExitCode::kConfiguration, "finish() must be called in the loop over steps()");
  requests_.finish(reason);
}

void Session::Engine::say(const std::string& sentence) const {
  if (reporting_) reporting_->make_room();
  session::say(sentence);
}

void Session::Engine::leave_if_drained() {
  if (is_at_end()) return;
  const bool agrees = ever_agreed_ || assignment_.world_size == 1;
  if (!agrees && drain_->leaves_with_next_save()) {
    if (saved_step_ == position_.step) stop(session::control::kStop | session::control::kInterrupt);
    if (is_first() && !std::exchange(has_said_that_it_waits_, true))
      say("Ctrl-C: these ranks do not agree on requests in each step, so they train until the next save, for "
          "at most --grace-seconds; a second Ctrl-C stops them at once");
  }
  if (const auto why = drain_->must_exit(clock_.now(), agrees)) throw *why;
}

void Session::Engine::check() const {
  if (const auto why = places_.lost()) fail(ExitCode::kStartAgain, *why);
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
  const auto wanted = link_.wanted();
  std::uint32_t bits = schedule_ ? schedule_->requests() : 0;
  if (wanted.save_request > served_save_request_ && !is_save_under_way()) bits |= session::control::kSave;
  if (wanted.hand_over == assignment_.attempt) bits |= session::control::kLeave;
  bits |= requests_.bits();
  bits |= drain_->requests(wanted, clock_.now());
  return bits;
}

Rendezvous Session::Engine::rendezvous() const {
  auto meeting = session::split_address(assignment_.rendezvous);
  return {.host = std::move(meeting.host),
          .port = meeting.port,
          .listening_fd = is_first() ? link_.listening_fd() : -1,
          .own_host = link_.own_host(),
          .secret = assignment_.secret};
}

}  // namespace ratoon
