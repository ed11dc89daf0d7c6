// A world that is small enough to visit every order of events: two jobs of two members on three nodes, one
// operator. No choice is drawn; each state gives its possible next events. Time passes only if no other event
// can happen, up to the next moment that a decision named.
//
// One job may have a neighbour that is not simulated: every effect of a second job on the same nodes with the
// same operator on the first one may happen. The operator ends without a decision about the job, faults
// strike elsewhere, and time stops at moments of the neighbour.
//
// Faults: a node dies and the platform reports it 40 s later, a program crashes, a pod's object vanishes
// while its process runs on, the copy of a job's pods stands still, the operator ends after any prefix of a
// decision. Each fault may happen at any moment, as long as some are left.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/coordinator/job_session.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::sim {

// A pod and the process in it. The pod's object may be gone while its process lives.
struct Body {
  enum class Stage { kWaits, kJoins, kTrains, kGone };  // for its start, for a seat
  api::Pod pod;
  bool is_there = true;  // the object
  Stage stage = Stage::kWaits;
  bool has_asked = false;  // the operator that is there now
  Attempt attempt{0};      // its world's, or the last one that it left
  std::uint64_t step = 0;
  std::uint64_t said = 0;  // beats
};

[[nodiscard]] ProcessIdentity identity_of(const Body& body);

struct SmallJob {
  api::TrainingJob job;
  std::vector<Body> bodies;
  std::vector<api::Pod> copy;
  bool is_copy_held = false;
  coordinator::JobSession job_session;
  bool is_open = false;
  Timestamp opened;
  bool is_news = true;
  std::optional<Timestamp> wake_at;
  std::set<std::pair<Attempt, Step>> checkpoints;
  std::uint32_t losses = 0;  // of members, in truth
  std::uint32_t made = 0;
};

struct Event {
  enum class Kind {
    kLook,
    kStart,
    kSit,
    kObey,
    kStep,
    kEnd,
    kGo,
    kCatchUp,
    kTime,
    kASecond,
    kNodeDies,
    kCrash,
    kVanish,
    kHold,
    kCutShort,
    kOperatorEnds,
    kElsewhere
  };
  Kind kind;
  std::size_t job = 0;
  std::size_t which = 0;  // body, node or length of a prefix

  [[nodiscard]] bool is_fault() const { return kind >= Kind::kNodeDies; }
};

class SmallWorld {
 public:
  static constexpr std::size_t kNodes = 3;

  enum class Beside { kNobody, kNeighbour };
  SmallWorld(std::size_t jobs, std::uint32_t faults, std::uint64_t steps, Beside beside = Beside::kNobody);
  // The first of two jobs, for which the second is a neighbour.
  [[nodiscard]] SmallWorld of_first_job() const;
  [[nodiscard]] bool is_first_over() const;

  [[nodiscard]] std::vector<Event> next() const;
  // The world after it. A broken law is in broken().
  [[nodiscard]] SmallWorld after(const Event& event) const;
  [[nodiscard]] std::uint64_t fingerprint() const;
  [[nodiscard]] bool is_over() const;  // all jobs are, and nothing is left to do
  [[nodiscard]] Duration calm() const { return now_ - last_fault_; }
  [[nodiscard]] const std::string& broken() const { return broken_; }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] static std::string describe(const Event& event);

 private:
  [[nodiscard]] WallTime wall_now() const { return {now_.since_boot + std::chrono::hours(1)}; }
  [[nodiscard]] core::Observation observe(const SmallJob& job) const;
  [[nodiscard]] core::Decision decide(const SmallJob& job) const;
  void add_events(std::size_t number, std::vector<Event>& events) const;
  void add_faults(std::size_t number, std::vector<Event>& events) const;
  [[nodiscard]] bool is_known_dead(std::size_t node) const;
  [[nodiscard]] bool is_dead(const Body& body) const;
  [[nodiscard]] bool can_step(const SmallJob& job, const Body& body) const;
  SmallJob& change(std::size_t number);
  void apply(const Event& event);
  void fail(const Event& event);
  void look(SmallJob& job, std::size_t prefix);
  void carry_out(SmallJob& job, const core::CreatePod& action) const;
  void check(const SmallJob& job, const core::Decision& decision);
  void start(SmallJob& job, Body& body) const;
  void join(SmallJob& job, Body& body) const;
  void look_again(SmallJob& job) const;
  void sit(SmallJob& job, Body& body);
  void obey(SmallJob& job, Body& body) const;
  void step(SmallJob& job, Attempt attempt) const;
  void end(SmallJob& job, Body& body) const;
  void beat(SmallJob& job, Body& body) const;
  void lose(SmallJob& job, const Body& body) const;
  [[nodiscard]] std::optional<Timestamp> next_moment() const;
  void pass_time(Timestamp until);
  void end_operator();
  static void note(SmallJob& job);
  static void leave(SmallJob& job, Body& body, int exit_code);

  std::array<std::shared_ptr<const SmallJob>, 2> jobs_;
  std::size_t count_ = 0;
  bool has_neighbour_ = false;
  std::array<std::optional<Timestamp>, kNodes> died_{};
  std::uint64_t steps_ = 1;
  std::uint32_t faults_left_ = 0;
  Timestamp now_;
  Timestamp last_fault_;
  std::string broken_;
};

}  // namespace ratoon::sim
