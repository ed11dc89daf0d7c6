// Worlds of one or more jobs behind an API server: the writes of an operator's client happen in the world,
// and the server's watches report the world's events. Writes meet the troubles of large clusters: other
// writers were faster (409), the server refuses (429 with Retry-After, 500, 503), the answer is lost, the
// write arrives long after its sender gave up, and the operator ends, or no longer leads, between any two
// writes. Each kind's watch falls behind by itself.
//
// The class also checks the promises that only the server can see: the writer of each object, the version,
// and the time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/http/transport.h"
#include "operator/runtime/leader/fence.h"
#include "tests/property/operator/server_behind.h"
#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

// One operator's process, from the view of the server and the members.
struct Caller {
  runtime::Fence fence;
  bool is_dead = false;
  std::map<std::string, std::string> made;  // UIDs of the pods that the server told it that it made, by name
  // Versions of the pods whose deletion was refused, by name, until the operator reads them.
  std::map<std::string, std::string> refused{};
};

// The source of choices: a seed, or a story that is replayed. Each stream of a seed is drawn by itself; a
// story is one list, in which each stream finds its own names.
struct Choices {
  std::uint64_t seed = 0;
  Moves::Keeps keeps = Moves::Keeps::kNothing;
  std::optional<Moves> told{};

  [[nodiscard]] Moves stream(std::uint64_t of_seed) const { return told ? *told : Moves(of_seed, keeps); }
};

// A job, its world, and the server's objects of it.
struct Served {
  Served(Moves moves, const Scenario& scenario) : world(std::move(moves), scenario) {}

  World world;
  std::map<std::string, api::Pod> shown;  // by UID
  std::uint64_t shown_generation = 0;
  // Worlds that were stored as formed, by attempt, and their members.
  using Sitting = std::tuple<Attempt, std::string, std::uint32_t, std::string>;
  std::set<Sitting> stored;
  // UIDs of members that were done when a suspension or a release was stored, which leaves no pod.
  std::set<std::string> may_end;
  std::map<Attempt, std::vector<std::string>> told;  // UIDs by rank
  Lineage resumed;

  [[nodiscard]] JobKey key() const { return api::key_of(world.job()); }
};

class SimulatedCluster {
 public:
  using json = nlohmann::json;

  enum class Server { kIsInTheWay, kIsCalm };
  // A world for each job, of which the first decides when operators end.
  SimulatedCluster(const Choices& choices, const std::vector<Scenario>& scenarios,
                   Server server = Server::kIsInTheWay);

  // One tick of all parts but operators.
  void advance(bool is_chaos);
  // The caller must outlive the result.
  [[nodiscard]] std::unique_ptr<http::HttpTransport> connect(Caller& caller);
  // The orders of the leading operator for the members.
  void announce(const JobKey& key, const api::Announcement& announcement);

  [[nodiscard]] std::vector<JobKey> keys() const;
  [[nodiscard]] World& world_of(const JobKey& key) const;
  [[nodiscard]] World& first() const { return jobs_.front()->world; }
  [[nodiscard]] const ManualClock& clock() const { return clock_; }
  // The choices except the scenario, if they were kept.
  [[nodiscard]] std::string story() const;
  // An action that no operator may do, if one did it.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  void find_broken(const std::string& sentence);
  // The time of the last failed write, for any reason.
  [[nodiscard]] Timestamp failed_at() const { return failed_at_; }

  // Counts of events, so that a law about an event is tested at all.
  struct Tally {
    std::uint64_t writes = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t changed_pods = 0;
    std::uint64_t exist_already = 0;
    std::uint64_t refusals = 0;
    std::uint64_t lost_answers = 0;
    std::uint64_t complaints = 0;
    std::uint64_t late = 0;
    std::uint64_t cut_short = 0;
  };
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] const SimulatedApiServer::Tally& watches() const { return server_.tally(); }

 private:
  friend class CallsOf;
  struct LateWrite {
    Timestamp arrives;
    http::Request request;
  };

  bool happens(const char* what, const std::string& whom, std::uint64_t percent) {
    return is_chaos_ && !is_calm_ && moves_.percent(what, whom, percent);
  }
  bool happens(const char* what, std::uint64_t percent) { return happens(what, "", percent); }
  [[nodiscard]] Served* find_job(const std::string& name) const;
  [[nodiscard]] Served* find_owner(const json& object) const;  // of a pod
  // simulated_cluster.cpp
  [[nodiscard]] Result<http::Response> call(Caller& caller, const http::Request& request);
  [[nodiscard]] Result<http::ResponseHead> watch(const std::string& url, http::BodySink& sink);
  [[nodiscard]] http::Response refuse_for_now();
  void check_rights(const http::Request& request, const Place& place);
  void check_creation(const Caller& caller, const http::Request& request);
  static void note_creation(Caller& caller, const http::Response& reply);
  void check_deletion(const Caller& caller, const Place& place, const std::string& version);
  void change_by_others();
  void show();
  void show_pod(Served& job, const api::Pod& pod);
  void show_pods();
  void show_nodes();
  void show_job(Served& job);
  // simulated_writes.cpp
  [[nodiscard]] http::Response write(const http::Request& request);
  [[nodiscard]] http::Response create_pod(const http::Request& request, json body);
  [[nodiscard]] http::Response delete_pod(const http::Request& request, const json& options);
  [[nodiscard]] http::Response patch_status(const http::Request& request, const json& body);
  [[nodiscard]] http::Response delete_job(const http::Request& request, const json& options);
  void check_complaint(json before, json after);
  void check_status(Served& job, const api::TrainingJobStatus& before, const api::TrainingJobStatus& after);

  ManualClock clock_{{}, World::kWallAtBoot};
  ManualClock server_clock_;  // that moves with each call, which nobody reads
  Moves moves_;
  Moves kubelets_;  // of their own, so that worlds are as they were without them
  bool is_calm_;
  std::vector<std::unique_ptr<Served>> jobs_;
  SimulatedApiServer server_;
  std::unique_ptr<ServerBehind> behind_;
  bool is_chaos_ = true;
  std::map<std::string, Timestamp> held_until_;  // by kind: its watches say nothing until then
  std::vector<LateWrite> late_;
  bool is_writing_late_ = false;
  std::uint64_t notes_ = 0;
  std::string broken_;
  Timestamp failed_at_;
  Tally tally_;
};

}  // namespace ratoon::sim
