#include <cstdio>
#include <exception>

#include <ratoon/train.h>

#include "agent/src/checkpoint/run_store.h"
#include "agent/src/session/engine.h"
#include "agent/src/session/link.h"
#include "base/contract/exit_code.h"

namespace ratoon {

// Calls the function and, when it returns, sees to it that its last state is committed.
int run_attempt(Session& session, const std::function<void(Session&)>& function) {
  function(session);
  session.engine_->finish();
  return static_cast<int>(ExitCode::kDone);
}

namespace {

[[noreturn]] void fail(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

Assignment join_world(session::Link& link, const checkpoint::RunStore& store) {
  const auto inventory = store.inventory();
  if (!inventory) fail(ExitCode::kStorage, inventory.error().message());
  if (inventory->complete.empty() && !inventory->damaged.empty()) {
    fail(ExitCode::kCheckpointsBad,
         "the run has " + std::to_string(inventory->damaged.size()) +
             " checkpoints and none can be read; nothing is started over by itself");
  }
  // The newest few are enough to find one that all can reach.
  constexpr std::size_t kReportedMax = 16;
  auto entries = inventory->complete;
  if (entries.size() > kReportedMax) entries.resize(kReportedMax);
  // The number of a damaged one is used up: its file would be in the way of a new one.
  if (!inventory->damaged.empty()) entries.push_back(inventory->damaged.front());
  auto assignment = link.join(entries);
  if (assignment) return *assignment;
  if (link.standing() == session::Standing::kFenced)
    fail(ExitCode::kStartAgain, assignment.error().message());
  if (assignment.error().kind() == ErrorKind::kCancelled)
    fail(ExitCode::kPreempted, assignment.error().message());
  fail(ExitCode::kConfiguration, "the world cannot be joined: " + assignment.error().message());
}

int train_to_the_end(const Options& options, const std::function<void(Session&)>& function) {
  const auto folder = std::filesystem::path(options.save_folder) / options.run_name;
  const auto store = checkpoint::RunStore::open(folder);
  if (!store) fail(ExitCode::kStorage, store.error().message());
  const auto link = session::make_link(options);
  if (!link) fail(ExitCode::kConfiguration, link.error().message());

  for (;;) {
    auto engine = std::make_unique<Session::Engine>(options, *store, **link, join_world(**link, *store));
    const Session::Engine& state = *engine;
    Session session(std::move(engine));
    try {
      const int code = run_attempt(session, function);
      if (const auto told = (*link)->complete(state.position()); !told) {
        // The last checkpoint is committed: whoever starts us again finds us at the end, and completes then.
        fail(ExitCode::kStartAgain, "done, but nobody could be told: " + told.error().message());
      }
      return code;
    } catch (const Interrupted& why) {
      std::fprintf(stderr, "ratoon: attempt %llu ends at step %llu: %s\n",
                   static_cast<unsigned long long>(session.attempt()),
                   static_cast<unsigned long long>(session.steps_done()), why.what());
    }
  }
}

}  // namespace

int train(Result<Options> options, const std::function<void(Session&)>& function) {
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

}  // namespace ratoon
