// A small cluster in which everything happens that happens in large ones, from a seed and without waiting:
// pods start late, die, hang in Terminating; agents train, fall silent, come back when they were replaced;
// the operator stops after any prefix of a decision and forgets what it was told. The coordinator's Door is
// the real one.
//
// Not simulated: the Kubernetes API itself (a status that is read is the newest one), retention of
// checkpoints, pods of which a process never speaks.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "operator/coordinator/door.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  bool percent(std::uint64_t chance) { return below(100) < chance; }

 private:
  std::mt19937_64 engine_;
};

struct Scenario {
  std::uint32_t members = 2;
  std::uint32_t processes_per_node = 1;
  std::uint32_t restarts_max = 100000;
  std::uint64_t total_steps = 30;
  std::uint64_t save_every = 5;
  int chaos_ticks = 80;
  bool has_fatal_exits = false;
};

Scenario draw_scenario(Dice& dice);

// One start of a trainer process.
struct Agent {
  enum class State { kJoining, kTraining, kFinishing, kGone };
  ProcessIdentity identity;
  std::string pod_uid;
  State state = State::kJoining;
  Assignment assignment;
  Attempt left_attempt{0};
  std::uint64_t step = 0;
  std::uint64_t sequence = 0;
  std::set<std::uint64_t> uncommitted;
  std::optional<InventoryEntry> committed;
  std::optional<JoinRequest> asked;  // its inventory is of the moment at which it began to wait
  Timestamp cut_until;               // hears nothing from the coordinator and is not heard, but trains
  Timestamp frozen_until;            // does nothing at all
};

struct SimPod {
  api::Pod pod;
  Timestamp runs_at;
  Timestamp gone_at;  // once deleting
};

using Lineage = std::pair<Attempt, Step>;

class World {
 public:
  World(std::uint64_t seed, Scenario scenario);

  [[nodiscard]] core::Observation observe() const;
  // One tick of everybody but the operator; faults as the dice say while `is_chaos`.
  void advance(bool is_chaos);
  // Does what a decision says, as far as the operator comes: everything, or a prefix.
  void carry_out(const core::Decision& decision, bool is_chaos);
  // The facts right after a decision was carried out completely and nothing else happened.
  [[nodiscard]] core::Observation observe_after(const core::Observation& seen,
                                                const core::Decision& decision) const;

  [[nodiscard]] Timestamp now() const { return now_; }
  [[nodiscard]] const api::TrainingJob& job() const { return job_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const std::map<Lineage, std::string>& checkpoints() const { return checkpoints_; }
  [[nodiscard]] bool has_had_fatal_exit() const { return has_had_fatal_exit_; }
  [[nodiscard]] std::vector<api::Pod> pods() const;
  [[nodiscard]] std::string describe() const;
  Dice& dice() { return dice_; }

 private:
  void make_trouble();
  void trouble_for(Agent& agent);
  void move_pods();
  void start_processes(const SimPod& pod);
  void end_pod(const std::string& uid, int exit_code);
  void end_half_pods();
  void act(Agent& agent);
  void train(Agent& agent);
  void save(Agent& agent);
  void commit(Agent& agent);
  void join(Agent& agent);
  void beat(Agent& agent);
  void complete(Agent& agent);
  void obey(Agent& agent, const Orders& orders);
  void leave(Agent& agent, int exit_code);
  [[nodiscard]] bool can_step(const Agent& agent) const;
  [[nodiscard]] bool is_reachable(const Agent& agent) const { return is_open_ && now_ >= agent.cut_until; }

  Dice dice_;
  Scenario scenario_;
  Timestamp now_;
  api::TrainingJob job_;
  std::map<std::string, SimPod> pods_;  // by UID
  std::vector<std::unique_ptr<Agent>> agents_;
  std::map<std::pair<Attempt, Rank>, std::uint64_t> positions_;  // how far each rank of each world came
  std::map<Lineage, std::set<Rank>> receipts_;
  std::map<Lineage, std::string> checkpoints_;
  std::vector<std::pair<Timestamp, Beat>> late_beats_;
  coordinator::Door door_;
  bool is_open_ = false;  // whether the operator that runs now has announced something
  Timestamp listening_since_;
  std::uint64_t created_ = 0;
  std::uint64_t starts_ = 0;
  bool has_had_fatal_exit_ = false;
};

}  // namespace ratoon::sim
