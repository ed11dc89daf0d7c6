// Engine: what stands behind Session for one attempt. It restores, counts, saves, and looks up after every
// step whether the world still stands.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/failure.h>
#include <ratoon/options.h>
#include <ratoon/session.h>

#include "agent/src/checkpoint/run_store.h"
#include "agent/src/metrics/meters.h"
#include "agent/src/session/link.h"
#include "base/core/clock.h"

namespace ratoon {

// The checkpoint that all were to resume from is damaged or gone as far as this rank sees. To the training
// function it is a change of the world like any other; the next one resumes from an older checkpoint.
class CheckpointUnreadable : public Interrupted {
 public:
  CheckpointUnreadable(const checkpoint::CheckpointId& which, ErrorKind of_load, const std::string& why)
      : Interrupted(why), id(which), kind(of_load) {}
  checkpoint::CheckpointId id;
  ErrorKind kind;  // kCorrupted: its bytes are there and wrong
};

class Session::Engine {
 public:
  // What outlives the attempts.
  struct Surroundings {
    const Options& options;
    const checkpoint::RunStore& store;
    session::Link& link;
    const Clock& clock;
    metrics::Meters& meters;
  };
  Engine(const Surroundings& surroundings, Assignment assignment);

  void track(std::string name, std::function<std::string()> save, std::function<bool(std::string_view)> load);
  void begin(std::uint64_t total_steps);
  void end_step();
  // The training function returned: the last checkpoint is committed before this does.
  void finish();

  [[nodiscard]] Rendezvous rendezvous() const;
  void check() const;  // from any thread
  [[nodiscard]] std::uint32_t wishes() const;
  void agree(std::uint32_t wishes_of_all) { agreed_ |= wishes_of_all; }

  [[nodiscard]] const Assignment& assignment() const { return assignment_; }
  [[nodiscard]] Step step() const { return position_.step; }
  [[nodiscard]] bool is_at_end() const { return position_.step >= total_; }
  [[nodiscard]] const session::Position& position() const { return position_; }

 private:
  struct Tracked {
    std::function<std::string()> save;
    std::function<bool(std::string_view)> load;
  };

  void restore();
  void count_replay();
  void save();
  // Rank 0 commits what all ranks have written; the others only look.
  void advance_commits();
  // Until nothing that this rank wrote is uncommitted, or false after that time. Throws as check() does.
  [[nodiscard]] bool wait_for_commits(std::optional<Duration> at_most);
  // Waits for the checkpoint that was just saved, and throws Interrupted.
  [[noreturn]] void hand_over();
  // The control word that holds for the step that ends.
  [[nodiscard]] std::uint32_t take_agreed();
  void enter(ProcessPhase phase);
  [[nodiscard]] checkpoint::CheckpointId id_at(Step step) const;

  const Options& options_;
  const checkpoint::RunStore& store_;
  session::Link& link_;
  const Clock& clock_;
  metrics::Meters& meters_;
  const Assignment assignment_;
  std::map<std::string, Tracked> tracked_;
  session::Position position_;
  Step total_{0};
  Timestamp step_began_;
  std::vector<Step> uncommitted_;  // written by this rank, not known to be committed; oldest first
  std::uint64_t served_save_request_ = 0;
  std::uint32_t agreed_ = 0;  // control word of the current step
  bool has_begun_ = false;
};

}  // namespace ratoon
