// A small cluster in which everything happens that happens in large ones, from a seed and without waiting:
// pods start late, die, hang in Terminating; nodes get notice, lose it again, die with all their pods without
// a report, come back; agents train, fall silent, hang, come back when they were replaced; the operator stops
// after any prefix of a decision, or at any other moment, and forgets all but the status; its copy of pods
// and nodes falls behind, but for its own writes. The coordinator's JobSession is the real one.
//
// The API server's refusals are not simulated (a status that is read is the newest one, since a write that
// builds on another is refused).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/coordinator/job_session.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "tests/property/operator/moves.h"
#include "tests/property/operator/scenario.h"
#include "tests/property/operator/simulated_storage.h"

namespace ratoon::sim {

// One start of a trainer process.
struct Agent {
  enum class State { kJoining, kTraining, kHandingOver, kFinishing, kGone };
  ProcessIdentity identity;
  std::string pod_uid;
  State state = State::kJoining;
  Assignment assignment;
  Attempt left_attempt{0};
  std::uint64_t left_step = 0;
  bool has_been_in_world = false;
  std::uint64_t step = 0;
  std::uint64_t sequence = 0;
  std::uint64_t wanted_save = 0;  // as the newest orders say
  std::uint64_t served_save = 0;  // in this attempt
  Attempt wanted_hand_over{0};
  Timestamp waits_until;   // for the commit of what it hands over
  Timestamp copies_until;  // what it saved last, before it is done
  struct Write {
    Timestamp began;  // when it was asked for
    Timestamp ends;   // when its own part is on the disk
  };
  std::map<std::uint64_t, Write> uncommitted;  // by step
  std::optional<Duration> save_took;           // the last that was committed
  std::optional<InventoryEntry> committed;
  std::vector<InventoryEntry> damaged;   // of its attempt: told of before, and did not read back
  std::set<Lineage> unreadable;          // what it could not load
  Timestamp beats_at;                    // next
  std::optional<JoinRequest> asked;      // its inventory is of the moment at which it began to wait
  Timestamp listed;                      // that moment
  bool repeats_list = false;             // sends it again once the coordinator can be reached
  Timestamp cut_until;                   // hears nothing from the coordinator and is not heard, but trains
  Timestamp frozen_until;                // does nothing at all
  Timestamp moved_at;                    // stepped last, or sat down
  bool names_peers = false;              // in its last beat, as peers that it cannot reach
  std::optional<ProcessPhase> hangs_in;  // beats, and does nothing else for good
  Timestamp told_to_leave;               // when it hangs
  std::optional<Timestamp> said_done_at;
  Duration stalls_after_call{0};       // once, after its first call
  std::optional<Timestamp> called_at;  // as this start, and the operator that it reached: its number
  std::uint64_t called_operator = 0;

  [[nodiscard]] bool is_in_a_world() const { return state != State::kJoining && state != State::kGone; }
};

struct SimPod {
  api::Pod pod;
  std::vector<api::NodeToAvoid> avoid_nodes;
  Timestamp runs_at;
  Timestamp gone_at;                  // once deleting
  bool is_signalled = false;          // its processes know that
  std::optional<Timestamp> began_at;  // when its processes were started
};

// The network between two nodes, or between one and all others, while all reach the operator.
struct LinkCut {
  std::string from;
  std::string to;           // empty: every other node
  bool is_one_way = false;  // only connections that `from` begins are blocked
  Timestamp until;

  // Whether the processes on that node cannot connect to those on the other.
  [[nodiscard]] bool blocks(const std::string& here, const std::string& there) const {
    if (here == there) return false;
    const auto is_between = [&](const std::string& a, const std::string& b) {
      return from == a && (to.empty() || to == b);
    };
    return is_between(here, there) || (!is_one_way && is_between(there, here));
  }
};

// The announcements of a node's end.
struct Notice {
  std::optional<WallTime> said_at;  // where the news tells
  std::optional<Duration> leaves;   // from the news on; nothing: each pod has its own grace
};

struct SimNode {
  api::Node node;
  std::optional<Notice> notice;
  bool is_dead = false;
  bool is_known_dead = false;             // by the platform: nothing is placed here any more
  std::optional<Timestamp> dies_at;       // what its notice announces; without losses: at the earliest
  std::optional<Timestamp> retracted_at;  // or its notice is taken back
  Timestamp known_at;                     // when the platform knows that it is dead
  Timestamp fate_at;                      // when it comes back, or is removed
  bool comes_back = false;

  [[nodiscard]] bool takes_pods() const {
    return node.taints.empty() && !node.is_unschedulable && !node.is_deleting && !is_known_dead;
  }
};

// UIDs in an order that does not depend on the server's random values, so that a seed gives the same story.
struct ByTurn {
  const std::map<std::string, std::string>* turns;
  bool operator()(const std::string& a, const std::string& b) const { return turn(a) < turn(b); }
  [[nodiscard]] const std::string& turn(const std::string& uid) const {
    const auto known = turns->find(uid);
    return known == turns->end() ? uid : known->second;
  }
};

class World {
 public:
  World(Moves moves, const Scenario& scenario);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] core::Observation observe() const;
  // One tick of all parts but the operator; faults follow the moves while `is_chaos`.
  void advance(bool is_chaos);
  // Carries out a decision as far as the operator comes: all of it, or a prefix.
  void carry_out(const core::Decision& decision, bool is_chaos);
  // The same piece by piece, for an operator that uses an API server: the server's actions on request, the
  // messages to and from the coordinator, and the end of that operator.
  // With the UID that the call names, or a UID of the world's own.
  void create_pod(const core::CreatePod& action);
  // The creation reached the server long after the request.
  void note_late(const std::string& pod_uid) { came_late_[pod_uid] = now_; }
  void delete_pod(const std::string& uid, bool is_chaos, Duration grace = std::chrono::seconds(1));
  void delete_job();
  void set_job_uid(const std::string& uid) { job_.meta.uid = uid; }
  void store_status(const api::TrainingJobStatus& status) { job_.status = status; }
  void announce(const api::Announcement& announcement);
  void lose_operator();
  // The nodes belong to another world, and their events happen here as well.
  void follow_nodes(World& leader);
  [[nodiscard]] std::uint64_t operators_lost() const { return operators_lost_; }
  [[nodiscard]] std::uint64_t pods_rejected() const { return pods_rejected_; }
  [[nodiscard]] const coordinator::JobSession& job_session() const { return member_server_; }
  [[nodiscard]] Timestamp listening_since() const { return is_open_ ? listening_since_ : now_; }
  [[nodiscard]] const std::map<std::string, SimNode>& nodes() const { return nodes_; }
  // Whether agents sent facts that may change a decision since the last query.
  [[nodiscard]] bool take_news() { return std::exchange(has_news_, false); }

  // A change of the spec, by its owner.
  void suspend(bool is_suspended);
  // From this call on the job is as the API server has it: it is not resumed while its members still save.
  void refuse_early_resumes() { refuses_early_resumes_ = true; }
  void resize();       // of a job that is suspended
  void change_spec();  // in a field that no member reads
  // How many pods of other jobs each node has.
  void note_pods_of_others(std::map<std::string, std::size_t> counts) { pods_of_others_ = std::move(counts); }
  // The facts right after a decision was carried out completely and no other event happened.
  [[nodiscard]] core::Observation observe_after(const core::Observation& seen,
                                                const core::Decision& decision) const;

  [[nodiscard]] Timestamp now() const { return now_; }
  static constexpr WallTime kWallAtBoot{std::chrono::hours(1)};
  [[nodiscard]] WallTime wall_now() const {
    return {now_.since_boot + kWallAtBoot.since_epoch + wall_ahead_};
  }
  [[nodiscard]] Duration wall_ahead() const { return wall_ahead_; }
  // The time at which the present operator last learned that the world of that attempt moved: when it formed
  // it, gave a process its seat, or first heard of the newest step. There is no value if the operator knows
  // nothing of the world.
  [[nodiscard]] std::optional<Timestamp> move_heard_at(Attempt attempt) const;
  [[nodiscard]] bool is_operator_down() const { return now_ < down_until_; }
  [[nodiscard]] const api::TrainingJob& job() const { return job_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Storage& storage() const { return storage_; }
  // Whether that start of a process had a seat.
  [[nodiscard]] bool has_been_in_world(const ProcessIdentity& process) const;
  // The checkpoints that that start of a process reported when it asked to join; nullptr: it sent no message.
  [[nodiscard]] const JoinRequest* heard_from(const ProcessIdentity& process) const;
  // Whether the platform, or an administrator of nodes, announced the end of this node, as far as the
  // operator's copy shows it; and the time until which it stays, if known.
  [[nodiscard]] bool is_noticed(const std::string& node) const { return notices_seen_.contains(node); }
  [[nodiscard]] const Notice* notice_of(const std::string& node) const;
  // Whether all processes of exactly this pod asked the present operator to join, and have had no seat since.
  [[nodiscard]] bool all_wait_in(const std::string& pod_uid) const;
  // The same, and each of them lives, waits at this moment, and shares its name with no other pod's.
  [[nodiscard]] bool wait_alone_in(const std::string& pod_uid) const;
  // Copies that reach the store while a world is formed may be in no list of its members yet.
  static constexpr Duration kWhileFormed = std::chrono::milliseconds(3500);
  // Whether the checkpoint of the last step is intact, all reach it, and a list of waiting members may have
  // it.
  [[nodiscard]] bool is_end_at_hand() const;
  // Whether a waiting process reported a checkpoint that all reach, that is not damaged, and that none of
  // them found bad.
  [[nodiscard]] bool is_any_checkpoint_offered() const;
  // Whether the network between this node and another one was cut a moment ago, as members tell late.
  [[nodiscard]] bool was_cut_off(const std::string& node) const;
  // Whether each process of this pod called the present operator within its start deadline, and had no seat.
  [[nodiscard]] bool starts_in_time(const std::string& pod_uid) const;
  // Whether the processes of this pod were started within the start deadline.
  [[nodiscard]] bool has_just_begun(const std::string& pod_uid) const;
  // Whether its processes run no longer, as far as the platform will find out.
  [[nodiscard]] bool is_node_dead(const std::string& node) const;
  [[nodiscard]] std::uint64_t slow_starts() const { return slow_starts_; }
  [[nodiscard]] std::uint64_t links_cut() const { return links_cut_; }
  [[nodiscard]] std::uint64_t wrong_completions() const { return wrong_completions_; }
  // Whether a process hung in that world, and in that pod.
  [[nodiscard]] bool has_hung(Attempt attempt) const;
  [[nodiscard]] bool has_hung(Attempt attempt, const std::string& uid) const;
  [[nodiscard]] bool is_job_gone() const { return is_job_gone_; }  // deleted: nobody looks at it any more
  [[nodiscard]] std::uint64_t repeated_steps() const { return repeated_steps_; }
  // The newest step that a process made in that world, whether or not the operator heard of it.
  [[nodiscard]] std::uint64_t reached(Attempt attempt) const;
  // A resume with another size, before the training members had saved: the job begins anew at once.
  [[nodiscard]] bool has_resumed_unsaved() const { return has_resumed_unsaved_; }
  // Whether all processes of this incarnation are in the world of that attempt, or done.
  [[nodiscard]] bool is_whole(const api::MemberStatus& member, Attempt attempt) const;
  // Whether the process has left, and was told before that a new operator would know that it is done.
  [[nodiscard]] bool is_done(const std::string& uid, std::uint32_t local_rank) const;
  // Whether all its processes reported, in its former pod, that they are done.
  [[nodiscard]] bool has_been_done(const api::MemberStatus& member) const;
  // An order that no process may ever get, if one got it.
  [[nodiscard]] const std::string& broken_seat() const { return broken_seat_; }
  // Whether programs without the agent made all their steps.
  [[nodiscard]] bool is_trained() const { return group_steps_ >= scenario_.total_steps; }
  [[nodiscard]] std::vector<api::Pod> pods() const;
  [[nodiscard]] std::string describe() const;
  Moves& moves() { return moves_; }
  [[nodiscard]] const Moves& moves() const { return moves_; }

 private:
  void hear_beat(const Heartbeat& beat);
  // simulated_trouble.cpp
  void make_trouble();
  void trouble_for(Agent& agent);
  void cut_zone();
  // simulated_links.cpp
  void cut_link();
  [[nodiscard]] bool is_link_cut(const std::string& here, const std::string& there) const;
  [[nodiscard]] bool is_any_link_cut_in(Attempt attempt) const;
  [[nodiscard]] bool is_reachable_from(const Agent& agent, const PeerAddress& peer) const;
  [[nodiscard]] std::vector<std::string> probe_peers(Agent& agent) const;
  void lose_pod();
  void give_notice();
  void damage_checkpoint();
  // simulated_completions.cpp
  void complete_too_early();
  void claim_completion(const Agent& agent);
  void leave_wrong_record(const std::string& pod_uid);
  [[nodiscard]] std::optional<ResumePoint> commit_told_in(Attempt attempt) const;
  [[nodiscard]] ResumePoint draw_wrong_end(const ResumePoint& known);
  [[nodiscard]] SimNode& draw_node(const char* what);
  // simulated_platform.cpp
  void end_by_platform();
  void delete_with_grace(SimPod& entry, Duration grace);
  void delete_somebody();
  [[nodiscard]] bool is_told_to_go(const Agent& agent) const;
  void reject_pod(SimPod& entry);
  void end_pod_as(SimPod& entry, api::PodPhase phase, std::optional<int> exit_code, const char* reason);
  void follow_watch();
  void note_answer(const std::string& uid);
  // simulated_nodes.cpp
  void add_node();
  void move_nodes(bool is_chaos);
  void kill_node(SimNode& node);
  void return_node(SimNode& node);
  void end_all_on(const std::string& node);
  void restart_all_on(const std::string& node);
  void take_pods_from(const std::string& node);
  void forget_node(const std::string& node);
  void place(SimPod& pod, bool is_chaos);
  [[nodiscard]] bool has_room(const std::string& node) const;
  [[nodiscard]] bool is_on_dead_node(const SimPod& pod) const;
  // simulated_pods.cpp
  void move_pods(bool is_chaos);
  void start_processes(SimPod& pod, bool is_chaos);
  [[nodiscard]] Duration start_deadline() const;
  void start_in_overload(Agent& agent);
  void end_pod(const std::string& uid, int exit_code);
  void leave_record(api::Pod& pod) const;
  void end_processes(const std::string& pod_uid);
  [[nodiscard]] bool goes_at_once(const SimPod& entry) const;
  // simulated_programs.cpp
  void let_programs_work();
  void work(const std::vector<Agent*>& group, bool is_whole);
  void take_signals();
  void trouble_for_program(Agent& program);
  [[nodiscard]] bool is_given_up(const Agent& program) const;
  [[nodiscard]] bool is_unseen(const Agent& program) const;
  [[nodiscard]] bool is_awake(const std::vector<Agent*>& group) const;
  // simulated_agent.cpp
  void let_agents_act();
  void act(Agent& agent);
  void hang(Agent& agent);
  void train(Agent& agent);
  void make_step(Agent& agent);
  void save(Agent& agent);
  void vote(Agent& agent);
  [[nodiscard]] Duration save_time() const { return std::chrono::seconds(scenario_.policies.save_seconds); }
  void commit(Agent& agent);
  void hand_over(Agent& agent);
  void join(Agent& agent);
  void ask(Agent& agent);
  void sit_down(Agent& agent, const Assignment& assignment);
  void judge_seat(const Agent& agent);
  void beat(Agent& agent);
  void finish(Agent& agent);
  void complete(Agent& agent);
  void obey(Agent& agent, const Orders& orders);
  void leave_world(Agent& agent);
  [[nodiscard]] bool load(Agent& agent);
  [[nodiscard]] std::string node_of(const Agent& agent) const;
  [[nodiscard]] std::set<std::string> nodes_in(Attempt attempt) const;
  void leave(Agent& agent, int exit_code);
  [[nodiscard]] bool may_be_listed(const Storage::Saved& saved) const;
  [[nodiscard]] bool can_step(const Agent& agent) const;
  [[nodiscard]] std::uint32_t agree(const Agent& agent);
  [[nodiscard]] bool is_reachable(const Agent& agent) const { return is_open_ && now_ >= agent.cut_until; }

  Moves moves_;
  Scenario scenario_;
  Timestamp now_;
  api::TrainingJob job_;
  std::map<std::string, std::string> turns_;  // "uid-1", "uid-2", ... by UID
  std::map<std::string, SimPod, ByTurn> pods_{ByTurn{&turns_}};
  std::map<std::string, SimNode> nodes_;  // by name
  std::map<std::string, std::size_t> pods_of_others_;
  std::map<std::string, api::Pod> pods_seen_;    // by UID: the operator's copy
  std::map<std::string, api::Node> nodes_seen_;  // by name
  std::map<std::string, Notice> notices_seen_;   // by name
  Timestamp behind_until_;                       // what happens until then is not in the copy yet
  std::vector<std::unique_ptr<Agent>> agents_;
  std::map<std::pair<Attempt, Rank>, std::uint64_t> positions_;        // how far each rank of each world came
  std::map<std::pair<Attempt, std::uint64_t>, std::uint32_t> agreed_;  // control words, by step
  std::map<Lineage, std::set<Rank>> receipts_;
  Storage storage_;
  std::map<std::string, JoinRequest> heard_;  // by start
  std::set<std::pair<std::string, std::uint32_t>>
      waits_;  // pods and local ranks that the present operator heard
  std::set<std::pair<std::string, std::uint32_t>> done_;  // processes, by pod and local rank
  std::set<std::pair<std::string, std::uint32_t>> ever_done_;
  std::set<std::pair<std::string, std::uint32_t>> acknowledged_;  // was told that it is recorded
  std::map<std::string, ResumePoint> records_;  // by pod: with which checkpoint its first process was done
  std::vector<std::pair<Timestamp, Heartbeat>> late_beats_;
  coordinator::JobSession member_server_;
  std::optional<core::RecoveryTimestamps> recovery_;
  bool is_open_ = false;  // whether the operator that runs now has announced something
  Timestamp down_until_;
  Duration wall_ahead_{0};  // of the steady clock, by jumps
  struct Heard {
    std::uint64_t step = 0;  // the newest
    Timestamp moved_at;
  };
  std::map<Attempt, Heard> heard_of_worlds_;  // by the operator that is there now
  // The attempt and the newest commit of the last beats that the present operator heard, by start.
  std::map<std::string, std::pair<Attempt, ResumePoint>> told_;
  std::uint64_t wrong_completions_ = 0;
  std::uint64_t operators_lost_ = 0;
  std::uint64_t pods_rejected_ = 0;
  std::vector<LinkCut> link_cuts_;  // those of long ago, too
  std::uint64_t links_cut_ = 0;
  bool has_news_ = false;
  Timestamp listening_since_;
  std::uint64_t created_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t slow_starts_ = 0;
  std::uint64_t made_nodes_ = 0;
  bool wants_node_ = false;                         // of the world whose nodes it has
  std::map<std::string, Timestamp> came_late_;      // pods, by UID
  std::set<std::pair<Attempt, std::string>> hung_;  // worlds and pods in which somebody did
  bool is_job_gone_ = false;
  std::uint64_t repeated_steps_ = 0;
  bool has_resumed_unsaved_ = false;
  bool refuses_early_resumes_ = false;
  std::string broken_seat_;
  std::set<std::string> met_;  // first members' addresses at which a group once was whole
  std::uint64_t group_steps_ = 0;
  std::uint64_t addresses_ = 0;
};

}  // namespace ratoon::sim
