// session/api/: implements train(), Session, the amounts in its options (<ratoon/amount.h>), and the loop
// over attempts.
//
// AttemptLoop: owns the objects that outlive an attempt, such as the checkpoint locations, the saver, and the
// connections to other processes. AttemptLoop begins each attempt, and decides at the attempt's end whether
// the process ends or begins the next attempt.
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
  // A process with train() may make any number of attempts (calls of the training function). A process
  // without train() makes one attempt.
  enum class HowMany { kOne, kAny };
  // Creates and starts the objects that outlive attempts. Throws Failure.
  explicit AttemptLoop(Options options, HowMany how_many = HowMany::kAny);

  // Calls `function` in one attempt after the other, until it has trained to the end of the run.
  void run(const std::function<void(Session&)>& function);

  // Waits, without a timeout, until all processes of the next attempt are known, and begins the attempt.
  [[nodiscard]] std::unique_ptr<Engine> next();

  // Completes a run whose training has ended: commits its last saves, waits for copies to stores, and reports
  // the completion.
  void complete(Engine& engine);

  // Ends an attempt. Call end() in the handler of the exception that ended the attempt. end() returns if
  // another attempt follows, else it throws the exception that ends the process.
  void end(Engine& engine);
  // Ends the attempt of a process that cannot begin another one: calls end(), prints why the process ends,
  // and returns the exit code.
  [[nodiscard]] int end_and_report(Engine& engine, const std::exception_ptr& why);

  // Waits for a limited time until staged saves (in memory) are written to the disk. The destructor of
  // AttemptLoop waits for staged saves too.
  void finish_staged_saves();
  // Gives the claims back if the job is over. Only for a process that then ends without destructors.
  void give_claims_back();

  // Call report_incomplete() when the process is about to end with exit code 0 although the run is not
  // complete. Prints the reason, and returns the exit code to use instead of 0.
  [[nodiscard]] int report_incomplete(Engine& engine, const std::string& ended_by,
                                      const std::string& how_to_end);

  // For a process with one attempt: throws if the next start would again choose the checkpoint that this
  // process cannot read.
  void fail_if_still_unreadable() const;

 private:
  [[nodiscard]] std::unique_ptr<session::Link> open_link();
  // With --autoresume=false: throws a Failure if there is a checkpoint from which the run would resume.
  void check_resume_allowed();
  // Makes sure that no other job uses the same checkpoint locations, and creates the Saver, which writes
  // checkpoints.
  [[nodiscard]] checkpoint::Saver open_saver();
  // Returns `at_most`, or the time until this process must end, if this time is shorter.
  [[nodiscard]] Duration limit_to_deadline(Duration at_most) const;
  void wait_for_copies(Duration at_most, const std::function<bool()>& goes_on = {});
  [[nodiscard]] std::unique_ptr<Engine> wait_for_world();
  // Records whether the end of this process, with the reason `why`, ends the whole job.
  void note_job_end(const Failure& why);
  // Calls the function `act` and returns its result. If `act` fails and no retry is possible, publishes the
  // reason, so that other processes do not wait for this process.
  template <class Act>
  auto run_or_publish_refusal(const Act& act);
  // Returns null if the set of processes changed before the attempt began.
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
  session::CheckpointLocations locations_;
  const std::unique_ptr<session::Link> link_;
  checkpoint::Saver saver_;
  const Engine::Dependencies dependencies_;
  const std::unique_ptr<metrics::Endpoint> endpoint_;
  session::UnreadableCheckpoints unreadable_checkpoints_;
  std::uint64_t hand_over_count_ = 0;  // before the current attempt
  bool has_reported_options_ = false;
};

}  // namespace ratoon
