// A job of programs without the agent, from a seed: pods that start late, are killed, evicted, deleted with
// grace or vanish; nodes that give notice or die; programs that fail by themselves, and programs that fail or
// hang because a peer is gone; an operator that stops after any prefix of a decision and sees some events
// late.
//
// The programs are ranks that met at one address. The programs step only while all are present, and their
// progress is kept, as in a folder that all share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "tests/property/operator/dice.h"

namespace ratoon::sim {

class GroupWorld {
 public:
  explicit GroupWorld(std::uint64_t seed);

  [[nodiscard]] core::Observation observe() const;
  // One tick of all parts but the operator; faults are drawn while `is_chaos`.
  void advance(bool is_chaos);
  // Carries out a decision: all of it, or a prefix.
  void carry_out(const core::Decision& decision, bool is_chaos);
  // Only stored facts are known.
  void end_operator();

  [[nodiscard]] Timestamp now() const { return now_; }
  [[nodiscard]] const api::TrainingJob& job() const { return job_; }
  [[nodiscard]] std::uint32_t own_failures() const { return own_failures_; }
  [[nodiscard]] bool is_trained() const { return steps_ >= steps_needed_; }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const std::string& broken() const { return broken_; }
  Dice& dice() { return dice_; }

 private:
  struct Entry {
    api::Pod pod;
    Timestamp runs_at;
    Timestamp gone_at;   // once it is deleted
    bool lives = false;  // its program
    int late_by = 0;     // news of it, in ticks
  };
  using Meeting = std::string;  // an address

  [[nodiscard]] WallTime wall_now() const { return {now_.since_boot + std::chrono::hours(1)}; }
  [[nodiscard]] static Meeting meeting_of(const api::Pod& pod);
  [[nodiscard]] std::vector<Entry*> living(const Meeting& meeting);
  void store(const api::TrainingJobStatus& decided, bool is_chaos);
  [[nodiscard]] bool can_be_forgotten(const api::MemberStatus& member) const;
  void forget_roster();
  void end(Entry& entry, int exit_code);
  void make_trouble();
  void trouble_for(Entry& entry);
  [[nodiscard]] bool is_all_news_told(const std::string& node) const;
  void move_nodes(bool is_chaos);
  void move_pods();
  void work();
  void suffer(const Meeting& meeting);

  Dice dice_;
  Timestamp now_;
  api::TrainingJob job_;
  std::string broken_;
  std::vector<api::MemberStatus> roster_;  // as the last decision saw it, not stored yet
  std::optional<Timestamp> news_since_;    // that are not stored yet
  Timestamp status_stored_;
  std::map<std::string, Entry> pods_;  // by UID
  std::map<std::string, api::Pod> pods_seen_;
  std::map<std::string, api::Node> nodes_;
  std::set<std::string> dead_nodes_;  // the platform may not know it yet
  std::set<Meeting> met_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_needed_ = 0;
  bool fails_by_itself_ = false;
  std::uint32_t own_failures_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace ratoon::sim
