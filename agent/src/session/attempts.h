// Attempts: what outlives the attempts of a process (its places, its link to the other members, its saver,
// its ear for notices), how each attempt begins, and what the end of one means for the process.
//
//   Session::Attempts attempts(options);
//   attempts.run(function);
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ratoon/options.h>
#include <ratoon/session.h>

#include "agent/src/checkpoint/saver.h"
#include "agent/src/metrics/endpoint.h"
#include "agent/src/session/engine.h"
#include "agent/src/session/joining.h"
#include "agent/src/session/notice_setup.h"
#include "agent/src/session/numerics_watch.h"

namespace ratoon {

class Session::Attempts {
 public:
  // How many the process may have.
  enum class HowMany { kOne, kAny };
  // Nothing is started before this. Throws Failure.
  explicit Attempts(Options options, HowMany how_many = HowMany::kAny);

  // Attempt by attempt, until the function has reached its end.
  void run(const std::function<void(Session&)>& function);

  // Waits for a seat in a world, for as long as it takes.
  [[nodiscard]] std::unique_ptr<Engine> next();

  // The training is done: what it saved is committed, copies are waited for, whoever may ask is told.
  void complete(Engine& engine);

  // Called where an exception of this attempt is caught: returns where another attempt follows, and throws
  // what ends the process.
  void end(Engine& engine);

  // What is staged gets some time to reach the disk, as it does where this dies.
  void let_saves_end();

  // The process ends with 0, and this attempt is not complete: says why it may not, and gives its exit code.
  [[nodiscard]] int say_why_not_complete(Engine& engine, const std::string& what_ended,
                                         const std::string& how_to_end);

  // Of who has one attempt: throws where the next start would choose a checkpoint that this one cannot read.
  void refuse_to_repeat() const;

 private:
  [[nodiscard]] std::unique_ptr<session::Link> open_link();
  // Where there is what it would resume (--autoresume false).
  void refuse_to_resume();
  // Whose the places are is settled first.
  [[nodiscard]] checkpoint::Saver open_saver();
  void wait_for_copies(Duration at_most, const std::function<bool()>& goes_on = {});
  [[nodiscard]] std::unique_ptr<Engine> wait_for_seat();
  // The result of `act`; where that ends this process for good, others that wait for it are told why.
  template <class Act>
  auto told_to_others(const Act& act);
  // Null where the world changed before the attempt had begun.
  [[nodiscard]] std::unique_ptr<Engine> begin(const Assignment& assignment);
  [[nodiscard]] bool has_coordinator() const { return !options_.member.coordinator_url.empty(); }

  const Options options_;
  const std::shared_ptr<session::NumericsWatch> numerics_;
  const std::shared_ptr<session::FirstState> first_state_;
  const SystemClock clock_;
  session::NoticeWatch notices_;
  const std::shared_ptr<metrics::Meters> shared_meters_ = std::make_shared<metrics::Meters>();
  metrics::Meters& meters_ = *shared_meters_;
  const std::shared_ptr<session::Accounts> accounts_;
  session::Places places_;
  const std::unique_ptr<session::Link> link_;
  checkpoint::Saver saver_;
  const Engine::Surroundings surroundings_;
  const std::unique_ptr<metrics::Endpoint> endpoint_;
  session::Unreadable unreadable_;
  std::uint64_t handed_over_ = 0;  // before the attempt under way
  bool has_said_options_ = false;
};

}  // namespace ratoon
