// session/api/: implements the public headers: train(), Session and the amounts of its options, and the loop
// over attempts.
//
// AttemptLoop: the objects that outlive the attempts of a process (its checkpoint locations, its link to the
// other members, its saver, its watch for notices). AttemptLoop also decides how each attempt begins, and
// what an attempt's end means for the process.
//
//   Session::AttemptLoop attempts(options);
//   attempts.run(function);
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <ratoon/options.h>
#include <ratoon/session.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "agent/src/metrics/endpoint.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/engine/numerics_watch.h"
#include "agent/src/session/rendezvous/join_world.h"
#include "agent/src/session/shutdown/notice_setup.h"

namespace ratoon {

class Session::AttemptLoop {
 public:
  // How many attempts the process may make: one (without train()) or any number.
  enum class HowMany { kOne, kAny };
  // The constructor starts the objects that outlive attempts. Throws Failure.
  explicit AttemptLoop(Options options, HowMany how_many = HowMany::kAny);

  // Runs attempt after attempt, until `function` has trained to the end of the run.
  void run(const std::function<void(Session&)>& function);

  // Waits for a world, without a timeout, and begins the next attempt in it.
  [[nodiscard]] std::unique_ptr<Engine> next();

  // Ends a run whose training is done: commits its saves, waits for copies, and reports the completion.
  void complete(Engine& engine);

  // Call end() in the handler of an exception that ended the attempt. If another attempt follows, end()
  // returns; if not, end() throws the exception that ends the process.
  void end(Engine& engine);
  // Does the same as end() for an exception that is not handled yet, prints why the process ends, and returns
  // its exit code: the process can only end.
  [[nodiscard]] int end_with(Engine& engine, const std::exception_ptr& why);

  // Waits a limited time until staged saves are on the disk, as the destructor does.
  void finish_staged_saves();

  // report_incomplete() is called when the process ends with exit code 0 although this attempt is not
  // complete. Prints why exit code 0 is wrong, and returns the exit code to use instead.
  [[nodiscard]] int report_incomplete(Engine& engine, const std::string& ended_by,
                                      const std::string& how_to_end);

  // For a process with one attempt: throws if the next start would choose a checkpoint that this process
  // cannot read.
  void refuse_to_repeat() const;

 private:
  [[nodiscard]] std::unique_ptr<session::Link> open_link();
  // Refuses to start if there is a checkpoint that would be resumed (--autoresume false).
  void refuse_to_resume();
  // Opens the saver, after taking or sharing the ownership of the checkpoint locations.
  [[nodiscard]] checkpoint::Saver open_saver();
  void wait_for_copies(Duration at_most, const std::function<bool()>& goes_on = {});
  [[nodiscard]] std::unique_ptr<Engine> wait_for_world();
  // Notes whether the whole job ends with this process.
  void note_end(const Failure& why);
  // Runs `act` and returns its result. If `act` fails for good, the reason is published to the processes that
  // wait for this process.
  template <class Act>
  auto with_refusal_published(const Act& act);
  // Returns null if the world changed before the attempt began.
  [[nodiscard]] std::unique_ptr<Engine> begin(const Assignment& assignment);
  [[nodiscard]] bool has_coordinator() const { return !options_.member.coordinator_url.empty(); }

  const Options options_;
  const std::shared_ptr<session::NumericsWatch> numerics_;
  const std::shared_ptr<session::StartSnapshot> start_snapshot_;
  const SystemClock clock_;
  session::NoticeWatch notices_;
  const std::shared_ptr<metrics::Meters> shared_meters_ = std::make_shared<metrics::Meters>();
  metrics::Meters& meters_ = *shared_meters_;
  const std::shared_ptr<session::TimeAccounts> accounts_;
  session::CheckpointLocations places_;
  const std::unique_ptr<session::Link> link_;
  checkpoint::Saver saver_;
  const Engine::Dependencies dependencies_;
  const std::unique_ptr<metrics::Endpoint> endpoint_;
  session::Unreadable unreadable_;
  std::uint64_t handed_over_ = 0;  // before the current attempt
  bool has_said_options_ = false;
};

}  // namespace ratoon
