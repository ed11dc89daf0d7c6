#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>

#include <ratoon/train.h>

#include "agent/src/checkpoint/run_store.h"
#include "agent/src/metrics/endpoint.h"
#include "agent/src/session/engine.h"
#include "agent/src/session/leaving.h"
#include "agent/src/session/link.h"
#include "agent/src/session/termination_record.h"
#include "base/contract/exit_code.h"

namespace ratoon {

// Calls the function and, when it returns, sees to it that its last state is committed.
int run_attempt(Session& session, const std::function<void(Session&)>& function) {
  function(session);
  session.engine_->finish();
  return static_cast<int>(ExitCode::kDone);
}

namespace {

using Unreadable =
    std::map<checkpoint::CheckpointId, ErrorKind>;  // what this process could not load, and why

[[noreturn]] void fail(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

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

Result<Assignment> ask_for_world(session::Link& link, const checkpoint::RunStore& store,
                                 const Unreadable& unreadable) {
  const auto inventory = store.inventory();
  if (!inventory) fail(ExitCode::kStorage, inventory.error().message());
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

Assignment join_world(session::Link& link, const checkpoint::RunStore& store, const Unreadable& unreadable) {
  auto assignment = ask_for_world(link, store, unreadable);
  // A coordinator that comes back knows of no checkpoint but those that it is told of: each call tells anew.
  while (!assignment && assignment.error().is_retryable())
    assignment = ask_for_world(link, store, unreadable);
  if (assignment) return *assignment;
  if (link.standing() == session::Standing::kFenced)
    fail(ExitCode::kStartAgain, assignment.error().message());
  if (assignment.error().kind() == ErrorKind::kCancelled)
    fail(ExitCode::kPreempted, assignment.error().message());
  fail(ExitCode::kConfiguration, "the world cannot be joined: " + assignment.error().message());
}

// So that no later start tries it again, but for the last one: if all are bad it is this machine that is.
// Where that fails this run goes on all the same: it knows.
void set_aside(const checkpoint::RunStore& store, const CheckpointUnreadable& why) {
  const auto inventory = store.inventory();
  if (!inventory || inventory->complete.size() < 2) return;
  const auto done = store.set_aside(why.id, why.what());
  if (!done) std::fprintf(stderr, "ratoon: it cannot be set aside: %s\n", done.error().message().c_str());
}

int train_to_the_end(const Options& options, const std::function<void(Session&)>& function) {
  const auto folder = std::filesystem::path(options.save_folder) / options.run_name;
  const auto store = checkpoint::RunStore::open(folder);
  if (!store) fail(ExitCode::kStorage, store.error().message());
  const auto link = session::make_link(options);
  if (!link) fail(ExitCode::kConfiguration, link.error().message());

  const SystemClock clock;
  metrics::Meters meters;
  const Session::Engine::Surroundings surroundings{
      .options = options, .store = *store, .link = **link, .clock = clock, .meters = meters};
  const auto endpoint =
      metrics::open_endpoint(options.member, meters, Logger(clock, {.format = LogFormat::kText}));

  Unreadable unreadable;
  for (;;) {
    auto engine = std::make_unique<Session::Engine>(surroundings, join_world(**link, *store, unreadable));
    const Session::Engine& state = *engine;
    Session session(std::move(engine));
    try {
      const int code = run_attempt(session, function);
      const CompletionRecord record{.attempt = state.position().attempt, .step = state.position().step};
      if (const auto written = session::write_termination_record(options.member, record); !written)
        std::fprintf(stderr, "ratoon: %s; the coordinator is told all the same\n",
                     written.error().message().c_str());
      if (const auto told = (*link)->complete(state.position()); !told) {
        // The last checkpoint is committed: whoever starts us again finds us at the end, and completes then.
        fail(ExitCode::kStartAgain, "done, but nobody could be told: " + told.error().message());
      }
      return code;
    } catch (const CheckpointUnreadable& why) {
      std::fprintf(stderr, "ratoon: %s; an older checkpoint is asked for\n", why.what());
      unreadable[why.id] = why.kind;
      if (why.kind == ErrorKind::kCorrupted) set_aside(*store, why);
    } catch (const Interrupted& why) {
      std::fprintf(stderr, "ratoon: attempt %llu ends at step %llu: %s\n",
                   static_cast<unsigned long long>(session.attempt()),
                   static_cast<unsigned long long>(session.steps_done()), why.what());
    }
  }
}

int train_or_say_why(const Result<Options>& options, const std::function<void(Session&)>& function) {
  try {
    if (!options) fail(ExitCode::kConfiguration, options.error().message());
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
