#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>

#include <ratoon/train.h>

#include "agent/src/checkpoint/saver.h"
#include "agent/src/metrics/endpoint.h"
#include "agent/src/session/engine.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/leaving.h"
#include "agent/src/session/link.h"
#include "agent/src/session/notice_setup.h"
#include "agent/src/session/place_options.h"
#include "agent/src/session/places.h"
#include "agent/src/session/resume_command.h"
#include "agent/src/session/termination_record.h"
#include "base/contract/exit_code.h"
#include "base/core/random_name.h"

namespace ratoon {

using session::fail;

// Calls the function and, when it returns, sees to it that its last state is committed.
int run_attempt(Session& session, const std::function<void(Session&)>& function) {
  try {
    function(session);
    session.engine_->finish();
  } catch (...) {
    session.engine_->end_reporting();
    throw;
  }
  session.engine_->end_reporting();
  return static_cast<int>(ExitCode::kDone);
}

namespace {

using Unreadable =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // what this process could not load, and why

// What can be loaded, and after it what cannot, so that nobody picks it for us.
std::vector<InventoryEntry> report(checkpoint::Inventory inventory, const Unreadable& unreadable) {
  // The newest few are enough to find one that all can reach.
  constexpr std::ptrdiff_t kReportedMax = 16;
  for (auto& entry : inventory.complete) {
    if (unreadable.contains({.attempt = entry.attempt, .step = entry.step})) entry.is_complete = false;
  }
  const auto bad = std::stable_partition(inventory.complete.begin(), inventory.complete.end(),
                                         [](const auto& entry) { return entry.is_complete; });
  std::vector<InventoryEntry> entries(
      inventory.complete.begin(),
      inventory.complete.begin() + std::min(kReportedMax, bad - inventory.complete.begin()));
  entries.insert(entries.end(), bad, bad + std::min(kReportedMax, inventory.complete.end() - bad));
  entries.insert(entries.end(), inventory.damaged.begin(),
                 inventory.damaged.begin() + std::min(kReportedMax, std::ssize(inventory.damaged)));
  return entries;
}

bool is_refused_by_disk(const checkpoint::Inventory& inventory, const Unreadable& unreadable) {
  return std::any_of(unreadable.begin(), unreadable.end(),
                     [](const auto& one) { return one.second == ErrorKind::kIo; }) ||
         std::any_of(inventory.damaged.begin(), inventory.damaged.end(),
                     [](const auto& entry) { return entry.digest == checkpoint::kUnreadable; });
}

Result<Assignment> ask_for_world(session::Link& link, const session::Places& places,
                                 const Unreadable& unreadable) {
  const auto inventory = places.inventory();
  if (!inventory) {
    const bool is_of_two_runs = inventory.error().kind() == ErrorKind::kConflict;
    fail(is_of_two_runs ? ExitCode::kConfiguration : ExitCode::kStorage, inventory.error().message());
  }
  const auto entries = report(*inventory, unreadable);
  if (!entries.empty() && !entries.front().is_complete) {
    if (is_refused_by_disk(*inventory, unreadable)) {
      fail(ExitCode::kStorage,
           "no checkpoint of the run can be read, and some may be sound: the disk refuses; see the lines "
           "above, "
           "mend or mount it, start again");
    }
    fail(ExitCode::kCheckpointsBad,
         "the run has " + std::to_string(entries.size()) +
             " checkpoints and none can be read; nothing is started over by itself");
  }
  return link.join(entries, inventory->newest_attempt);
}

Assignment join_world(session::Link& link, const session::Places& places, const Unreadable& unreadable) {
  auto assignment = ask_for_world(link, places, unreadable);
  // A coordinator that comes back knows of no checkpoint but those that it is told of: each call tells anew.
  while (!assignment && assignment.error().is_retryable())
    assignment = ask_for_world(link, places, unreadable);
  if (assignment) return *assignment;
  if (link.standing() == session::Standing::kFenced)
    fail(ExitCode::kStartAgain, assignment.error().message());
  if (assignment.error().kind() == ErrorKind::kCancelled)
    fail(ExitCode::kPreempted, assignment.error().message());
  fail(ExitCode::kConfiguration, "the world cannot be joined: " + assignment.error().message());
}

// So that no later start tries it again, but for the last one: if all are bad it is this machine that is.
// Where that fails this run goes on all the same: it knows.
void set_aside(const session::Places& places, const CheckpointUnreadable& why) {
  const auto inventory = places.inventory();
  if (inventory && inventory->complete.size() >= 2) places.set_aside(why.id, why.what());
}

// Copies are made beside training: who leaves gives the last one that much time, and says where it is
// missing.
constexpr auto kLeavingTime = std::chrono::seconds(10);

void wait_for_copies(session::Places& places, Duration at_most) {
  auto sentences = places.wait_for_copies(at_most);
  places.move_events_to(sentences);
  for (const std::string& sentence : sentences) std::fprintf(stderr, "ratoon: %s\n", sentence.c_str());
}

// What is staged gets this long to reach the disk before a world is joined: the newest checkpoint may be in
// it.
constexpr auto kSettleTime = std::chrono::seconds(10);

void settle(checkpoint::Saver& saver) {
  static_cast<void>(saver.settle(kSettleTime));
  for (const std::string& event : saver.poll().events) std::fprintf(stderr, "ratoon: %s\n", event.c_str());
}

checkpoint::Saver open_saver(const session::Places& places) {
  auto saver = checkpoint::Saver::open(places.home(), draw_name(), std::make_shared<SystemClock>(),
                                       places.saver_options());
  if (!saver) fail(ExitCode::kStorage, saver.error().message());
  session::leave_at_once_if([abandoned = saver->was_abandoned()] { return abandoned->load(); });
  settle(*saver);
  return *std::move(saver);
}

// For the person who stopped the run; once, however many ranks there are.
std::string how_to_go_on(const Session::Engine& state) {
  if (state.assignment().rank.value() != 0) return "";
  return "; the same command goes on: " + session::own_command();
}

bool is_told_to_leave(const Failure& why) {
  return why.exit_code == static_cast<int>(ExitCode::kPreempted) ||
         why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser);
}

// A time limit counts from here, not from when the program came to call train().
const Timestamp kProcessBegan = SystemClock().now();

// A lock may hang with the disk. Where ranks meet they wait for each other, and the folder has been opened by
// then.
std::unique_ptr<session::Link> open_link(const Options& options, session::Places& places) {
  const bool is_with_coordinator = !options.member.coordinator_url.empty();
  const bool is_alone = !is_with_coordinator && options.group.size == 1;
  const auto open = [own = std::make_shared<Options>(options)] { return session::make_link(*own); };
  auto link = is_alone ? places.patiently("locking " + session::home_of(options), open) : open();
  if (link) return *std::move(link);
  fail(is_with_coordinator ? ExitCode::kConfiguration : session::exit_code_of(link.error()),
       link.error().message());
}

void own(session::Places& places, const session::NoticeWatch& notices) {
  try {
    places.own([&notices] { return notices.is_starting_of_use(); });
  } catch (const Interrupted&) {
    notices.leave_if_starting_is_of_no_use();
    throw;
  }
}

// Null where the world changed before the attempt had begun.
std::unique_ptr<Session::Engine> begin_attempt(const Session::Engine::Surroundings& surroundings,
                                               const Assignment& assignment) {
  try {
    return std::make_unique<Session::Engine>(surroundings, assignment);
  } catch (const Interrupted& why) {
    std::fprintf(stderr, "ratoon: attempt %llu ends before it began: %s\n",
                 static_cast<unsigned long long>(assignment.attempt.value()), why.what());
    ++surroundings.meters.rejoins.world_changed;
    return nullptr;
  }
}

void show_ledgers(metrics::Meters& meters, const std::shared_ptr<session::Accounts>& accounts) {
  meters.ledger = [accounts] { return session::seconds_of(accounts->of_process()); };
  meters.run_ledger = [accounts] {
    const auto run = accounts->of_run();
    return run ? session::seconds_of(run->account) : decltype(session::seconds_of({}))();
  };
}

// Tells whoever may ask that the training is done.
void complete(const Options& options, session::Link& link, const session::Position& position) {
  const CompletionRecord record{
      .attempt = position.attempt, .step = position.step, .weights = position.weights};
  if (const auto written = session::write_termination_record(options.member, record); !written)
    std::fprintf(stderr, "ratoon: %s; the coordinator is told all the same\n",
                 written.error().message().c_str());
  if (const auto told = link.complete(position); !told) {
    // The last checkpoint is committed: whoever starts us again finds us at the end, and completes then.
    fail(ExitCode::kStartAgain, "done, but nobody could be told: " + told.error().message());
  }
}

int train_to_the_end(const Options& options, const std::function<void(Session&)>& function) {
  const SystemClock clock;
  session::NoticeWatch notices(options, clock, kProcessBegan);
  metrics::Meters meters;
  const auto accounts = std::make_shared<session::Accounts>(clock);
  session::Places places(options, meters);
  const auto link = open_link(options, places);
  if (options.member.coordinator_url.empty() && options.group.rank == 0) own(places, notices);
  notices.leave_if_starting_is_of_no_use();
  checkpoint::Saver saver = open_saver(places);
  if (options.overwrite && options.member.coordinator_url.empty()) places.begin_anew();

  const Session::Engine::Surroundings surroundings{.options = options,
                                                   .places = places,
                                                   .saver = saver,
                                                   .link = *link,
                                                   .clock = clock,
                                                   .meters = meters,
                                                   .history_disk = places.folder(),
                                                   .accounts = accounts,
                                                   .drain = notices.drain()};
  show_ledgers(meters, accounts);
  link->tell_of_waiting([accounts] { accounts->wait_for_members(); });
  const auto endpoint =
      metrics::open_endpoint(options.member, meters, Logger(clock, {.format = LogFormat::kText}));

  Unreadable unreadable;
  for (;;) {
    const Timestamp asked = clock.now();
    Assignment assignment;
    notices.while_waiting(*link, [&] { assignment = join_world(*link, places, unreadable); });
    meters.last_recovery.join = (clock.now() - asked).count();
    auto engine = begin_attempt(surroundings, assignment);
    if (!engine) continue;
    const std::uint64_t handed_over = meters.rejoins.handed_over;
    const Session::Engine& state = *engine;
    Session session(std::move(engine));
    try {
      const int code = run_attempt(session, function);
      wait_for_copies(places, std::chrono::seconds(options.disk_patience_seconds));
      complete(options, *link, state.position());
      return code;
    } catch (const CheckpointUnreadable& why) {
      std::fprintf(stderr, "ratoon: %s; an older checkpoint is asked for\n", why.what());
      unreadable[why.id] = why.kind;
      ++meters.rejoins.checkpoint_unreadable;
      if (why.kind == ErrorKind::kCorrupted) set_aside(places, why);
    } catch (const Failure& why) {
      if (is_told_to_leave(why)) {
        settle(saver);
        wait_for_copies(places, kLeavingTime);
      }
      if (why.exit_code == static_cast<int>(ExitCode::kInterruptedByUser))
        throw Failure(why.exit_code, why.what() + how_to_go_on(state));
      throw;
    } catch (const Interrupted& why) {
      std::fprintf(stderr, "ratoon: attempt %llu ends at step %llu: %s\n",
                   static_cast<unsigned long long>(session.attempt()),
                   static_cast<unsigned long long>(session.steps_done()), why.what());
      if (meters.rejoins.handed_over == handed_over) ++meters.rejoins.world_changed;
      settle(saver);
    }
  }
}

int train_or_say_why(const Result<Options>& options, const std::function<void(Session&)>& function) {
  try {
    if (!options) fail(ExitCode::kConfiguration, options.error().message());
    if (!options->help.empty()) {
      std::fputs(options->help.c_str(), stdout);
      std::fflush(stdout);
      return static_cast<int>(ExitCode::kDone);
    }
    return train_to_the_end(*options, function);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "ratoon: %s\n", failure.what());
    return failure.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ratoon: the training function threw: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int train(Result<Options> options, const std::function<void(Session&)>& function) {
  return session::leave(train_or_say_why(options, function));
}

}  // namespace ratoon
