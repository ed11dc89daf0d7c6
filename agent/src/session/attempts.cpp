#include "agent/src/session/attempts.h"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "agent/src/session/check_options.h"
#include "agent/src/session/exit_watch.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/group_link.h"
#include "agent/src/session/last_words.h"
#include "agent/src/session/leaving.h"
#include "agent/src/session/place_options.h"
#include "agent/src/session/resume_command.h"
#include "agent/src/session/say.h"
#include "agent/src/session/staging_options.h"
#include "agent/src/session/termination_record.h"
#include "base/contract/exit_code.h"
#include "base/core/random_name.h"

namespace ratoon {

using session::fail;

namespace {

// A time limit counts from here, not from when the program came to call train().
const Timestamp kProcessBegan = SystemClock().now();

// Copies are made beside training: who leaves gives the last one that much time, and says where it is
// missing.
constexpr auto kLeavingTime = std::chrono::seconds(10);

// What is staged gets this long to reach the disk before a world is joined: the newest checkpoint may be in
// it.
constexpr auto kSettleTime = std::chrono::seconds(10);

void settle(checkpoint::Saver& saver) {
  static_cast<void>(saver.settle(kSettleTime));
  for (const std::string& event : saver.poll().events) session::say(event);
}

// The same meters with their ledgers, which have to be there before anybody looks.
const metrics::Meters& with_ledgers(metrics::Meters& meters,
                                    const std::shared_ptr<session::Accounts>& accounts) {
  meters.ledger = [accounts] { return session::seconds_of(accounts->of_process()); };
  meters.run_ledger = [accounts] {
    const auto run = accounts->of_run();
    return run ? session::seconds_of(run->account) : decltype(session::seconds_of({}))();
  };
  return meters;
}

// So that no later start tries it again, but for the last one: if all are bad it is this machine that is.
// Where that fails this run goes on all the same: it knows.
void set_aside(const session::Places& places, const CheckpointUnreadable& why) {
  const auto inventory = places.inventory();
  if (inventory && inventory->complete.size() >= 2) places.set_aside(why.id, why.what());
}

// For the person who stopped the run; once, however many ranks there are. Under a coordinator that person
// typed another command than ours.
std::string how_to_go_on(const Options& options, const Session::Engine& engine) {
  if (engine.assignment().rank.value() != 0 || !options.member.coordinator_url.empty()) return "";
  if (options.overwrite) return "; the same command without --overwrite goes on";
  if (!options.autoresume) return "; the same command with --autoresume=true goes on";
  return "; the same command goes on: " + session::own_command();
}

bool is_for_good(const Failure& why) {
  return why.exit_code == static_cast<int>(ExitCode::kConfiguration) ||
         why.exit_code == static_cast<int>(ExitCode::kCheckpointsBad);
}

// The result of `act`, which comes before this process has a link. Where it ends this process for good, ranks
// that wait for it are told why. (Options that are wrong are so on all ranks, and name no folder to meet in.)
template <class Act>
auto told_to_group(const Options& options, const Act& act) {
  try {
    return act();
  } catch (const Failure& why) {
    if (is_for_good(why)) {
      const auto calls = std::make_shared<checkpoint::PatientCalls>(
          std::chrono::seconds(options.disk_timeout_seconds), std::make_shared<SystemClock>());
      session::leave_at_once_if([abandoned = calls->was_abandoned()] { return abandoned->load(); });
      session::tell_group_of_end(options, calls, why.what());
    }
    throw;
  }
}

// A program may have filled them in by itself.
Options checked(Options options) {
  if (const auto valid = session::check_options(options); !valid)
    fail(ExitCode::kConfiguration, valid.error().message());
  return options;
}

bool is_told_to_leave(const Failure& why) {
  return why.exit_code == static_cast<int>(ExitCode::kPreempted) ||
         why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser);
}

bool is_told_to_leave(const session::Link& link) {
  return link.standing() == session::Standing::kFenced || link.standing() == session::Standing::kStop;
}

}  // namespace

template <class Act>
auto Session::Attempts::told_to_others(const Act& act) {
  try {
    return act();
  } catch (const Failure& why) {
    if (is_for_good(why)) link_->end_for_good(why.what());
    throw;
  }
}

Session::Attempts::Attempts(Options options, HowMany how_many)
    : options_(checked(std::move(options))),
      numerics_(told_to_group(options_,
                              [this] {
                                return std::make_shared<session::NumericsWatch>(options_.deterministic,
                                                                                options_.seed.value_or(0),
                                                                                session::attached_numerics());
                              })),
      first_state_(how_many == HowMany::kAny
                       ? std::make_shared<session::FirstState>(session::first_state_bytes_max(options_))
                       : nullptr),
      notices_(
          told_to_group(options_, [this] { return session::NoticeWatch(options_, clock_, kProcessBegan); })),
      accounts_(std::make_shared<session::Accounts>(clock_)),
      places_(told_to_group(options_, [this] { return session::Places(options_, shared_meters_); })),
      link_(open_link()),
      saver_(told_to_others([this] { return open_saver(); })),
      surroundings_{.options = options_,
                    .places = places_,
                    .saver = saver_,
                    .link = *link_,
                    .clock = clock_,
                    .meters = meters_,
                    .history_disk = places_.folder(),
                    .accounts = accounts_,
                    .drain = notices_.drain(),
                    .numerics = numerics_,
                    .first_state = first_state_},
      endpoint_(metrics::open_endpoint(options_.member, with_ledgers(meters_, accounts_),
                                       Logger(clock_, {.format = LogFormat::kText}))) {
  told_to_others([this] {
    if (options_.overwrite && !has_coordinator()) places_.begin_anew();
    if (!options_.autoresume && options_.group.rank == 0) refuse_to_resume();
  });
  link_->tell_of_waiting([accounts = accounts_] { accounts->wait_for_members(); });
}

void Session::Attempts::refuse_to_resume() {
  const auto why = places_.find_refusal();
  if (why && options_.group.size == 1) fail(ExitCode::kConfiguration, *why);
  if (why) link_->form_no_new_world(*why);
}

std::unique_ptr<session::Link> Session::Attempts::open_link() {
  const auto goes_on = [this] { return notices_.is_starting_of_use(); };
  auto link = session::make_link(options_, places_.calls(), goes_on);
  if (link) return *std::move(link);
  if (link.error().kind() == ErrorKind::kCancelled) notices_.leave_if_starting_is_of_no_use();
  fail(session::exit_code_of(link.error()), link.error().message());
}

checkpoint::Saver Session::Attempts::open_saver() {
  try {
    if (!has_coordinator() && options_.group.rank == 0)
      places_.own([this] { return notices_.is_starting_of_use(*link_); });
    if (has_coordinator()) {
      places_.enter([this] { return notices_.is_starting_of_use(*link_) && !is_told_to_leave(*link_); });
    }
  } catch (const Interrupted&) {
    notices_.leave_if_starting_is_of_no_use(*link_);
    if (is_told_to_leave(*link_)) {
      fail(link_->standing() == session::Standing::kFenced ? ExitCode::kStartAgain : ExitCode::kPreempted,
           link_->reason());
    }
    throw;
  }
  notices_.leave_if_starting_is_of_no_use(*link_);
  auto saver = checkpoint::Saver::open(places_.home(), draw_name(), std::make_shared<SystemClock>(),
                                       places_.saver_options());
  if (!saver) fail(ExitCode::kStorage, saver.error().message());
  session::leave_at_once_if([abandoned = saver->was_abandoned()] { return abandoned->load(); });
  settle(*saver);
  return *std::move(saver);
}

void Session::Attempts::run(const std::function<void(Session&)>& function) {
  for (;;) {
    Session session(next());
    const session::ExitWatch watch([&] {
      const bool is_done = session.engine_->is_done();
      return say_why_not_complete(*session.engine_, "exit() was called within the training function",
                                  is_done ? ": return from it, which completes the run"
                                          : ": call finish() where the run is to end there, and return");
    });
    try {
      function(session);
      session::leave_if_forked();
      session.refuse_early_return();
      return complete(*session.engine_);
    } catch (...) {
      session::leave_if_forked();
      end(*session.engine_);
    }
  }
}

std::unique_ptr<Session::Engine> Session::Attempts::next() {
  return told_to_others([this] { return wait_for_seat(); });
}

std::unique_ptr<Session::Engine> Session::Attempts::wait_for_seat() {
  for (;;) {
    const Timestamp asked = clock_.now();
    Assignment assignment;
    link_->pin_threads(numerics_->pinned_threads());
    notices_.while_waiting(*link_, [&] { assignment = session::join_world(*link_, places_, unreadable_); });
    meters_.last_recovery.join = (clock_.now() - asked).count();
    if (auto engine = begin(assignment)) return engine;
  }
}

std::unique_ptr<Session::Engine> Session::Attempts::begin(const Assignment& assignment) {
  try {
    auto engine = std::make_unique<Engine>(surroundings_, assignment);
    handed_over_ = meters_.rejoins.handed_over;
    numerics_->begin_attempt(assignment.threads);
    if (assignment.rank.value() == 0 && !std::exchange(has_said_options_, true)) {
      session::say("seed " + std::to_string(options_.seed.value_or(0)) + " (--seed)");
      session::say(session::describe_saving(options_));
    }
    return engine;
  } catch (const Interrupted& why) {
    session::say("attempt " + std::to_string(assignment.attempt.value()) +
                 " ends before it began: " + why.what());
    ++meters_.rejoins.world_changed;
    return nullptr;
  }
}

void Session::Attempts::wait_for_copies(Duration at_most, const std::function<bool()>& goes_on) {
  auto sentences = places_.wait_for_copies(at_most, goes_on);
  places_.move_events_to(sentences);
  for (const std::string& sentence : sentences) session::say(sentence);
}

void Session::Attempts::complete(Engine& engine) {
  engine.finish();
  engine.end_reporting();
  wait_for_copies(std::chrono::seconds(options_.disk_timeout_seconds), [&engine] {
    engine.leave_if_told();
    return true;
  });
  const session::Position& position = engine.position();
  const InventoryEntry& last = position.committed.value();  // finish() has seen to it
  const CompletionRecord record{
      .attempt = position.attempt,
      .step = position.step,
      .checkpoint = {.attempt = last.attempt, .step = last.step, .digest = last.digest},
      .weights = position.weights};
  const auto write = [member = options_.member, record] {
    return session::write_termination_record(member, record);
  };
  if (const auto written = (*places_.calls())("writing the completion record", write); !written)
    session::say(written.error().message() + "; the coordinator is told all the same");
  const auto tell = [&](const std::stop_token& leaves) { return link_->complete(position, leaves); };
  if (const auto told = notices_.while_telling(*link_, tell); !told) {
    engine.leave_if_told();
    // The last checkpoint is committed: whoever starts us again finds us at the end, and completes then.
    fail(ExitCode::kStartAgain, "done, but nobody could be told: " + told.error().message());
  }
}

void Session::Attempts::end(Engine& engine) {
  try {
    engine.end_with_exception();
  } catch (const CheckpointUnreadable& why) {
    session::say(std::string(why.what()) + "; an older checkpoint is asked for");
    unreadable_[why.id] = why.kind;
    ++meters_.rejoins.checkpoint_unreadable;
    if (why.kind == ErrorKind::kCorrupted) set_aside(places_, why);
  } catch (const Failure& why) {
    if (is_told_to_leave(why)) {
      settle(saver_);
      wait_for_copies(kLeavingTime);
    }
    if (is_for_good(why)) link_->end_for_good(why.what());
    if (why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser))
      throw Failure(why.exit_code, why.what() + how_to_go_on(options_, engine));
    throw;
  } catch (const Interrupted& why) {
    session::say("attempt " + std::to_string(engine.assignment().attempt.value()) + " ends at step " +
                 std::to_string(engine.step().value()) + ": " + why.what());
    if (meters_.rejoins.handed_over == handed_over_) ++meters_.rejoins.world_changed;
    settle(saver_);
  }
}

void Session::Attempts::let_saves_end() {
  settle(saver_);
}

int Session::Attempts::say_why_not_complete(Engine& engine, const std::string& what_ended,
                                            const std::string& how_to_end) {
  const std::exception_ptr why = engine.why_not_complete(what_ended, how_to_end, true);
  engine.end_reporting();
  let_saves_end();
  try {
    std::rethrow_exception(why);
  } catch (...) {
    return session::say_why("the program");
  }
}

void Session::Attempts::refuse_to_repeat() const {
  if (unreadable_.empty()) return;
  const auto found = places_.inventory();
  if (!found) fail(session::exit_code_of(found.error()), found.error().message());
  if (found->complete.empty()) return;
  const auto id = checkpoint::id_of(found->complete.front());
  const auto known = unreadable_.find(id);
  if (known == unreadable_.end()) return;
  fail(known->second == ErrorKind::kIo ? ExitCode::kStorage : ExitCode::kCheckpointsBad,
       "the next start would choose this checkpoint again: mend the disk, or move " +
           places_.home()->shown(checkpoint::manifest_path(id)) +
           " away to go on from an older one; nothing is started over by itself");
}

}  // namespace ratoon
