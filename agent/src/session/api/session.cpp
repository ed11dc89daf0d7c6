#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <ratoon/session.h>
#include <ratoon/stream.h>

#include "agent/src/session/api/attempt_loop.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/sums/rank_sums.h"
#include "agent/src/session/telemetry/say.h"
#include "agent/src/session/tracked/stateful_lifetimes.h"
#include "base/core/never_destroyed.h"

namespace ratoon {

Session::Session(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

void Session::track(std::string name, Stateful& object) {
  if (auto* stream = dynamic_cast<Stream*>(&object)) engine_->note_stream(*stream);
  const auto is_destroyed = session::watch_lifetime(object);
  constexpr const char* kDestroyed =
      "the object was destroyed before the loop over steps() ended: declare it before the loop";
  const auto save = [=, &object](StateWriter& out) {
    if (*is_destroyed) out.refuse(kDestroyed);
    session::save_stateful(object, out);
  };
  const auto load = [=, &object](StateReader& in) {
    if (*is_destroyed) in.refuse(kDestroyed);
    session::load_stateful(object, in);
  };
  const auto kind = object.is_position() ? session::ObjectKind::kPosition : session::ObjectKind::kState;
  answer([&] { engine_->track(std::move(name), save, load, kind); });
}

void Session::track_state(std::string name, std::function<void(StateWriter&)> save,
                          std::function<void(StateReader&)> load, Tracked kind) {
  const auto object_kind = kind == Tracked::kWeights  ? session::ObjectKind::kWeights
                           : kind == Tracked::kSeeded ? session::ObjectKind::kSeeded
                                                      : session::ObjectKind::kState;
  answer([&] { engine_->track(std::move(name), std::move(save), std::move(load), object_kind); });
}

void Session::track_memory(std::string name, ElementType type, std::span<std::byte> memory, std::size_t count,
                           const TrackedMemory& how) {
  const TensorShape shape = how.shape.empty() ? TensorShape{count} : how.shape;
  const auto of_shape = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
  if (of_shape != count) {
    refuse_call("tracked '" + name + "': its shape has " + std::to_string(of_shape) +
                " numbers, but its memory has " + std::to_string(count));
  }
  const auto save = [=](StateWriter& out) {
    TensorView view;
    view.type = type;
    view.shape = shape;
    view.bytes = memory;
    view.is_saved_in_parts = how.is_saved_in_parts;
    out.tensor(std::move(view));
  };
  const auto load = [=](StateReader& in) {
    WantedTensor wanted;
    wanted.type = type;
    wanted.shape = shape;
    in.tensor(wanted, memory);
  };
  track_state(std::move(name), save, load, how.is_weight ? Tracked::kWeights : Tracked::kState);
}

Session::StepRange Session::steps(std::uint64_t total) {
  return steps(Until::steps(total));
}

Session::StepRange Session::steps(Until until) {
  resume(until);
  return StepRange(*this);
}

void Session::follow_data(std::function<std::uint64_t()> cursor, std::function<std::uint64_t()> epoch_slots,
                          std::function<std::uint64_t()> batches) {
  engine_->follow(
      [cursor = std::move(cursor), epoch_slots = std::move(epoch_slots), batches = std::move(batches)] {
        session::DataPosition position{.samples = cursor(), .epoch_samples = epoch_slots()};
        if (batches) position.batches = batches();
        return position;
      });
}

void Session::on_epoch_begin(std::function<void(std::uint64_t)> act) {
  answer([&] { engine_->on_epoch_begin(std::move(act)); });
}
void Session::on_epoch_end(std::function<void(std::uint64_t)> act) {
  answer([&] { engine_->on_epoch_end(std::move(act)); });
}

void Session::report(std::string_view name, double value, std::uint64_t samples) {
  answer([&] { engine_->report(name, value, samples); });
}

namespace {

session::RankSums::Plan make_sums_plan(const Session& session) {
  static const NeverDestroyed<SystemClock> clock;
  return {.rendezvous = session.rendezvous(),
          .attempt = session.attempt(),
          .rank = session.rank(),
          .world_size = session.world_size(),
          .look = [&session] { session.check(); },
          .say = [](const std::string& sentence) { session::say(sentence); },
          .steps_done = [&session] { return session.steps_done(); },
          .clock = &*clock};
}

void add_up(Session& session, const std::string& what, const session::SummedNumbers& numbers) {
  if (session.world_size() == 1) return;
  const auto waits = session.in(Phase::kCollective);
  session.part<session::RankSums>(make_sums_plan(session)).add_up(what, numbers);
}

}  // namespace

void Session::sum(std::span<double> numbers) {
  answer([&] { add_up(*this, "sum()", numbers); });
}
void Session::sum(std::span<float> numbers) {
  answer([&] { add_up(*this, "sum()", numbers); });
}
void Session::sum(std::span<std::int32_t> numbers) {
  answer([&] { add_up(*this, "sum()", numbers); });
}
void Session::sum(std::span<std::int64_t> numbers) {
  answer([&] { add_up(*this, "sum()", numbers); });
}
void Session::sum(std::span<std::uint32_t> numbers) {
  answer([&] { add_up(*this, "sum()", numbers); });
}
void Session::sum(std::span<std::uint64_t> numbers) {
  answer([&] { add_up(*this, "sum()", numbers); });
}

double Session::mean(std::string_view name, double value, std::uint64_t samples) {
  const auto weight = static_cast<double>(samples);
  std::array<double, 2> sums{samples == 0 ? 0 : value * weight, weight};
  std::string what = "mean(\"" + std::string(name) + "\")";
  std::replace(what.begin(), what.end(), '\n', ' ');
  answer([&] { add_up(*this, what, std::span<double>(sums)); });
  const double mean = sums[0] / sums[1];
  if (engine_->has_schedule()) report(name, mean);  // there are no steps before the loop
  return mean;
}

bool Session::save_best(std::string_view name, double value, const KeepBest& how) {
  if (engine_->is_past_end()) return false;
  answer([&] { engine_->check_save_best(name, how); });
  // Rank 0 decides whether the value is among the best, because the ranks may have different values.
  double is_best = rank() == 0 && engine_->note_best(name, value, how) ? 1 : 0;
  answer([&] { add_up(*this, "save_best(\"" + std::string(name) + "\")", std::span(&is_best, 1)); });
  if (is_best > 0) engine_->save_this_step();
  return is_best > 0;
}

void Session::agree() {
  if (world_size() == 1) return agree(requests());
  // The sum of a request bit over all ranks is above 0 if any rank sets the bit, like a bitwise or.
  constexpr std::size_t kRequestBits = 32;
  std::array<double, kRequestBits + kNumbers> all{};
  const std::uint32_t own = requests();
  for (std::size_t bit = 0; bit < kRequestBits; ++bit) all[bit] = (own >> bit) & 1U;
  std::ranges::copy(numbers(), all.begin() + kRequestBits);
  answer([&] { add_up(*this, "agree()", std::span<double>(all)); });
  std::uint32_t of_all = 0;
  for (std::size_t bit = 0; bit < kRequestBits; ++bit)
    if (all[bit] > 0) of_all |= 1U << bit;
  std::array<float, kNumbers> sums{};
  std::transform(all.begin() + kRequestBits, all.end(), sums.begin(),
                 [](double sum) { return static_cast<float>(sum); });
  agree(of_all);
  take_sums(sums);
}

void Session::refuse_call(const std::string& why) const {
  answer([&] { session::fail(ExitCode::kConfiguration, why); });
}

void Session::finish(const std::string& reason) {
  answer([&] { engine_->finish_early(reason); });
}
SaveTicket Session::save(const std::string& keep) {
  SaveTicket ticket;
  answer([&] { ticket = engine_->ask_to_save(keep); });
  return ticket;
}
void Session::unpin(std::uint64_t step) {
  answer([&] { engine_->unpin(step); });
}
void Session::notify(std::chrono::nanoseconds left, const std::string& why) {
  engine_->notify(left, why);
}
void Session::take_back_notice() {
  engine_->take_back_notice();
}

Session::PhaseScope Session::in(Phase phase) {
  return PhaseScope(*this, phase);
}

void Session::still_alive() {
  engine_->still_alive();
}

namespace {

ProcessPhase process_phase(Phase phase) {
  switch (phase) {
    case Phase::kData:
      return ProcessPhase::kData;
    case Phase::kValidation:
      return ProcessPhase::kValidate;
    case Phase::kCollective:
      break;
  }
  return ProcessPhase::kCollective;
}

}  // namespace

Session::PhaseScope::PhaseScope(Session& session, Phase phase)
    : session_(session),
      outer_(static_cast<int>(session.engine_->position().phase)),
      uncaught_exceptions_(std::uncaught_exceptions()) {
  session_.engine_->enter_phase_within_step(process_phase(phase));
}

// If an exception unwinds the stack, the attempt ends, so ~PhaseScope() does not end the phase. The time from
// the exception to the attempt's end counts for the phase of the destroyed PhaseScope.
Session::PhaseScope::~PhaseScope() {
  if (std::uncaught_exceptions() == uncaught_exceptions_ && !is_unfinished_)
    session_.engine_->enter_phase_within_step(static_cast<ProcessPhase>(outer_));
}

std::uint64_t Session::attempt() const {
  return engine_->assignment().attempt.value();
}
std::uint32_t Session::rank() const {
  return engine_->assignment().rank.value();
}
std::uint32_t Session::world_size() const {
  return engine_->assignment().world_size;
}
std::uint32_t Session::local_rank() const {
  return engine_->local_rank();
}
std::uint32_t Session::local_size() const {
  return engine_->local_size();
}
std::uint64_t Session::steps_done() const {
  return engine_->step().value();
}

// The tail of an epoch is the part of a step that follows the last batch of the epoch. The program may
// validate in the tail, so the tail has no time limit.
void Session::begin_tail_of_epoch() {
  engine_->enter_phase_within_step(ProcessPhase::kValidate);
}

std::uint64_t Session::resumes_at() const {
  const auto& resume = engine_->assignment().resume;
  return resume ? resume->step.value() : 0;
}

bool Session::peek_state(const std::string& name, std::function<void(StateReader&)> load) {
  bool is_there = false;
  answer([&] { is_there = engine_->peek(name, std::move(load)); });
  return is_there;
}

std::string Session::folder() const {
  return engine_->folder();
}

std::uint64_t Session::seed() const {
  return engine_->seed();
}
std::uint64_t Session::first_seed_of(std::string_view name) const {
  return engine_->first_seed_of(name);
}
std::uint64_t Session::seed_of(std::string_view name) const {
  return engine_->seed_of(name);
}
StreamOptions Session::stream_options(StreamOptions of_program) const {
  return engine_->stream_options(std::move(of_program));
}

Rendezvous Session::rendezvous() const {
  return engine_->rendezvous();
}
void Session::check() const {
  try {
    engine_->check();
  } catch (...) {
    // Other threads of the program may also call check(). If check() throws on another thread, the program
    // must pass the exception to the training thread.
    if (std::this_thread::get_id() == training_thread_) last_exception_ = std::current_exception();
    throw;
  }
}
std::uint32_t Session::requests() const {
  return engine_->requests();
}
void Session::agree(std::uint32_t requests_of_all) {
  engine_->agree(requests_of_all);
}

std::array<float, Session::kNumbers> Session::numbers() const {
  return engine_->numbers();
}
void Session::before_saves(std::function<void()> check) {
  engine_->before_saves(std::move(check));
}
void Session::before_saves_of_all(std::function<void()> check) {
  engine_->before_saves_of_all(std::move(check));
}
void Session::take_sums(std::span<const float, kNumbers> sums_of_all) {
  engine_->take_sums(sums_of_all);
}

std::uint64_t StepIterator::operator*() const {
  return session_->engine_->step().value();
}

StepIterator& StepIterator::operator++() {
  static_cast<void>(session_->step_done());
  return *this;
}

bool StepIterator::operator==(std::default_sentinel_t) const {
  return session_->is_over();
}

}  // namespace ratoon
