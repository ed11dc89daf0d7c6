#include "tests/property/operator/simulated_cluster.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "operator/core/members/notice_rules.h"
#include "operator/kube/pods/node_codec.h"
#include "operator/kube/pods/pod_codec.h"
#include "tests/property/operator/documents.h"

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

constexpr const char* kPods = "pods";
constexpr const char* kNodes = "nodes";
constexpr const char* kJobs = "trainingjobs";
constexpr const char* kEvents = "events";
constexpr std::size_t kHistory = 40;  // events of each kind that the server remembers

// The jobs follow each other, since a follower asks the first for its nodes.
std::vector<std::unique_ptr<Served>> make_jobs(const Choices& choices,
                                               const std::vector<Scenario>& scenarios) {
  constexpr std::uint64_t kApart = 0x2545f4914f6cdd1dULL;  // their choices are of other streams
  std::vector<std::unique_ptr<Served>> jobs;
  for (const auto& scenario : scenarios) {
    jobs.push_back(std::make_unique<Served>(choices.stream(choices.seed + kApart * jobs.size()), scenario));
    if (scenario.follows_nodes) jobs.back()->world.follow_nodes(jobs.front()->world);
  }
  return jobs;
}

std::string text_of(const JobKey& key) {
  return key.name_space + "/" + key.name;
}

std::string version_asked_for(const http::Request& deletion) {
  return json::parse(deletion.body)["preconditions"].value("resourceVersion", "");
}

}  // namespace

// One operator's connection.
class CallsOf final : public http::HttpTransport {
 public:
  CallsOf(SimulatedCluster& cluster, Caller& caller) : cluster_(cluster), caller_(caller) {}

  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    return cluster_.call(caller_, request);
  }
  Result<http::ResponseHead> stream(const http::Request& request, const http::Limits&, http::BodySink& sink,
                                    std::stop_token) override {
    return cluster_.watch(request.url, sink);
  }

 private:
  SimulatedCluster& cluster_;
  Caller& caller_;
};

SimulatedCluster::SimulatedCluster(const Choices& choices, const std::vector<Scenario>& scenarios,
                                   Server server)
    : moves_(choices.stream(choices.seed ^ 0x9e3779b97f4a7c15ULL)),
      kubelets_(choices.stream(~choices.seed)),
      is_calm_(server == Server::kIsCalm),
      jobs_(make_jobs(choices, scenarios)),
      server_(moves_.below("server", std::numeric_limits<std::uint64_t>::max()), server_clock_) {
  clock_.advance(first().now().since_boot);
  const char* kubeconfig = std::getenv("RATOON_API_SERVER");
  const bool holds_pods = scenarios.front().policies.holds_pods;
  behind_ = kubeconfig == nullptr ? make_memory_server(server_, clock_, holds_pods)
                                  : make_real_server(kubeconfig, server_, clock_, holds_pods);
  for (const auto& job : jobs_) {
    job->world.refuse_early_resumes();
    json document = job_document(job->world.job());
    if (job != jobs_.front()) document["metadata"]["uid"] = job->key().name;
    behind_->put(kJobs, std::move(document));
    const auto& stored = server_.objects(kJobs).at(text_of(job->key()));
    job->world.set_job_uid(stored["metadata"]["uid"].get<std::string>());
    job->shown_generation = job->world.job().meta.generation;
  }
  behind_->put(kJobs, behind_->unreadable_job());
  json stray = {{"metadata", {{"name", "stray"}, {"namespace", "default"}, {"uid", "stray"}}}};
  stray["metadata"]["labels"] = {{"ratoon.dev/job-uid", first().job().meta.uid},
                                 {"ratoon.dev/index", "first"}};
  stray["spec"] = {{"containers", json::array({{{"name", "stray"}, {"image", "i"}}})}};
  behind_->put(kPods, std::move(stray));
  show();
}

std::string SimulatedCluster::story() const {
  std::string text = moves_.story() + kubelets_.story();
  for (const auto& job : jobs_) text += job->world.moves().story();
  return text;
}

std::vector<JobKey> SimulatedCluster::keys() const {
  std::vector<JobKey> keys;
  for (const auto& job : jobs_) keys.push_back(job->key());
  return keys;
}

Served* SimulatedCluster::find_job(const std::string& name) const {
  const auto found = std::ranges::find_if(jobs_, [&](const auto& job) { return job->key().name == name; });
  return found == jobs_.end() ? nullptr : found->get();
}

Served* SimulatedCluster::find_owner(const json& object) const {
  const std::string uid = kube::owning_job_uid(object);
  const auto found =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job->world.job().meta.uid == uid; });
  return found == jobs_.end() ? nullptr : found->get();
}

World& SimulatedCluster::world_of(const JobKey& key) const {
  Served* job = find_job(key.name);
  return job == nullptr ? first() : job->world;
}

std::unique_ptr<http::HttpTransport> SimulatedCluster::connect(Caller& caller) {
  return std::make_unique<CallsOf>(*this, caller);
}

void SimulatedCluster::find_broken(const std::string& sentence) {
  if (broken_.empty()) broken_ = sentence;
}

// The other events at the server, then the server's view of them.
void SimulatedCluster::advance(bool is_chaos) {
  is_chaos_ = is_chaos;
  moves_.begin_moment();
  kubelets_.begin_moment();
  // The front itself draws the faults of watches and lists: a story has no such faults.
  server_.set_faults(is_chaos && !is_calm_ && !moves_.is_told());
  const std::uint64_t lost = first().operators_lost();
  for (const auto& job : jobs_) {
    if (job->world.scenario().follows_nodes) job->world.follow_nodes(first());
    job->world.advance(is_chaos);
    if (job != jobs_.front() && first().operators_lost() != lost) job->world.lose_operator();
  }
  clock_.advance(kTick);
  std::vector<LateWrite> due;
  std::erase_if(late_, [&](LateWrite& late) {
    if (late.arrives > clock_.now()) return false;
    due.push_back(std::move(late));
    return true;
  });
  show();
  is_writing_late_ = true;
  for (const auto& late : due) static_cast<void>(write(late.request));
  is_writing_late_ = false;
  if (is_chaos && !is_calm_) change_by_others();
  show();
  if (!is_calm_ && moves_.percent("server-forgets", 10))
    server_.forget_history(happens("server-forgets-all", 20) ? 0 : kHistory);
}

void SimulatedCluster::change_by_others() {
  if (happens("note-on-job", 3)) {  // somebody writes a note on the job: its version is another one
    const auto& objects = server_.objects(kJobs);
    const auto found =
        objects.find(text_of(jobs_[jobs_.size() == 1 ? 0 : moves_.below("note-on", jobs_.size())]->key()));
    if (found == objects.end()) return;
    json object = found->second;
    object["metadata"]["annotations"] = {{"note", std::to_string(++notes_)}};
    behind_->put(kJobs, std::move(object));
  }
  if (happens("writes-poison", 1)) behind_->put(kJobs, behind_->unreadable_job());
  // A kubelet writes a field that no reader uses. A pod that is deleted may be gone at any moment.
  std::vector<api::Pod> pods;
  for (const auto& job : jobs_) {
    auto own = job->world.pods();
    std::ranges::move(own, std::back_inserter(pods));
  }
  std::erase_if(pods, [](const api::Pod& pod) { return pod.node.empty() || pod.is_deleting; });
  if (!pods.empty() && kubelets_.percent("kubelet-writes", 10)) {
    json object =
        server_.objects(kPods).at("default/" + pods[kubelets_.below("kubelet-writes-of", pods.size())].name);
    object["metadata"]["annotations"]["note"] = std::to_string(++notes_);
    behind_->put(kPods, std::move(object));
  }
  for (const char* kind : {kPods, kNodes, kJobs})
    if (happens("holds-watch", kind, 3)) held_until_[kind] = clock_.now() + moves_.ticks("holds-for", 1, 40);
}

void SimulatedCluster::show_pod(Served& job, const api::Pod& pod) {
  const auto known = job.shown.find(pod.uid);
  if (known != job.shown.end() && known->second == pod) return;
  job.shown[pod.uid] = pod;
  const auto made = server_.objects(kPods).find(job.key().name_space + "/" + pod.name);
  if (made == server_.objects(kPods).end() || made->second["metadata"]["uid"] != pod.uid)
    return find_broken("the server does not have " + pod.name + " any more, and the world does");
  behind_->put(kPods, pod_document(made->second, pod));
}

void SimulatedCluster::show() {
  show_pods();
  show_nodes();
  for (const auto& job : jobs_) show_job(*job);
}

void SimulatedCluster::show_pods() {
  std::set<std::string> living;
  for (const auto& job : jobs_)
    for (const auto& pod : job->world.pods()) living.insert(pod.uid);
  std::vector<std::string> gone;
  for (const auto& [key, object] : server_.objects(kPods)) {
    const auto uid = object["metadata"]["uid"].get<std::string>();
    if (object["metadata"]["name"] != "stray" && !living.contains(uid)) gone.push_back(key);
  }
  for (const auto& key : gone) behind_->remove(kPods, key);
  for (const auto& job : jobs_) {
    std::erase_if(job->shown, [&](const auto& item) { return !living.contains(item.first); });
    for (const auto& pod : job->world.pods()) show_pod(*job, pod);
  }
}

void SimulatedCluster::show_nodes() {
  std::map<std::string, api::Node> nodes;
  for (const auto& job : jobs_)
    if (!job->world.scenario().follows_nodes)
      for (const auto& [name, entry] : job->world.nodes()) nodes.emplace(name, entry.node);
  std::vector<std::string> lost;
  for (const auto& [key, object] : server_.objects(kNodes))
    if (!nodes.contains(key.substr(1))) lost.push_back(key);
  for (const auto& key : lost) behind_->remove(kNodes, key);
  const api::NodeFactKeys facts = core::fact_keys_of(core::built_in_notice_rules());
  for (const auto& [name, node] : nodes) {
    json document = node_document(node);
    const auto known = server_.objects(kNodes).find("/" + name);
    const bool is_shown = known != server_.objects(kNodes).end() &&
                          *kube::decode_node(known->second, facts) == *kube::decode_node(document, facts);
    if (!is_shown) behind_->put(kNodes, std::move(document));
  }
}

void SimulatedCluster::show_job(Served& job) {
  const auto stored = server_.objects(kJobs).find(text_of(job.key()));
  const auto generation = job.world.job().meta.generation;
  if (stored == server_.objects(kJobs).end() || job.shown_generation == generation) return;
  job.shown_generation = generation;
  json object = stored->second;
  object["spec"] = spec_document(job.world.job().spec);
  object["metadata"]["generation"] = generation;
  behind_->put(kJobs, std::move(object));
}

http::Response SimulatedCluster::refuse_for_now() {
  ++tally_.refusals;
  http::Response reply = moves_.percent("refused-as-too-many", 50) ? refusal_of(429, "TooManyRequests")
                         : moves_.percent("refused-as-busy", 50)   ? refusal_of(503, "ServiceUnavailable")
                                                                   : refusal_of(500, "InternalError");
  // The pause is one of the simulated clock: no thread sleeps for it.
  if (reply.status != 500) reply.headers.set("Retry-After", std::to_string(tally_.refusals % 3));
  return reply;
}

// The rights of an operator: jobs, pods and nodes are read; pods and events are made, pods and jobs deleted
// by their UID, and only the status of a job is changed. No object in another namespace is changed.
void SimulatedCluster::check_rights(const http::Request& request, const Place& place) {
  const std::string what = request.method + " " + place.kind + (place.part.empty() ? "" : "/" + place.part);
  static const std::set<std::string> kRights = {
      "GET nodes",   "GET pods",    "GET trainingjobs",    "POST pods",
      "POST events", "DELETE pods", "DELETE trainingjobs", "PATCH trainingjobs/status",
      "PATCH events"};
  if (!kRights.contains(what)) find_broken("it has no right to: " + what);
  if (!place.name_space.empty() && place.name_space != first().job().meta.name_space)
    find_broken("it is in another namespace: " + request.url);
  const bool is_told = what == "PATCH trainingjobs/status";
  if (place.name == "poison" && !is_told) find_broken("a job that cannot be read was touched: " + what);
}

// An operator that was told that its pod exists makes it once.
void SimulatedCluster::check_creation(const Caller& caller, const http::Request& request) {
  const std::string name = json::parse(request.body)["metadata"]["name"].get<std::string>();
  const auto made = caller.made.find(name);
  const auto& pods = server_.objects(kPods);
  const auto there = pods.find(first().job().meta.name_space + "/" + name);
  if (made == caller.made.end() || there == pods.end()) return;
  if (there->second["metadata"]["uid"] == made->second) find_broken(name + " was made already");
}

void SimulatedCluster::note_creation(Caller& caller, const http::Response& reply) {
  const json made = json::parse(reply.body)["metadata"];
  caller.made[made["name"].get<std::string>()] = made["uid"].get<std::string>();
}

// An operator that was refused since the pod has changed does not repeat the request: it reads the pod.
void SimulatedCluster::check_deletion(const Caller& caller, const Place& place, const std::string& version) {
  const auto refused = caller.refused.find(place.name);
  if (refused != caller.refused.end() && refused->second == version)
    find_broken("the deletion of " + place.name + " was refused and is asked for again without a look");
}

Result<http::Response> SimulatedCluster::call(Caller& caller, const http::Request& request) {
  if (caller.is_dead) return Error(ErrorKind::kUnavailable, "its process has ended");
  const Place place = place_of(request.url);
  check_rights(request, place);
  if (request.method == "GET") {
    caller.refused.erase(place.name);
    if (place.name.empty()) return server_.answer(request.url);
    if (happens("refuses-read", place.name, 5)) return refuse_for_now();
    return behind_->call(request);
  }
  if (!caller.fence.is_open(clock_.now())) find_broken("one that does not lead writes: " + request.url);
  const bool is_event = place.kind == kEvents;
  const auto fail = [&](const char* why) {
    if (!is_event) failed_at_ = clock_.now();
    return Error(ErrorKind::kTimeout, why);
  };
  ++tally_.writes;
  const std::string whom = request.method + " " + place.kind + " " + place.name;
  if (happens("refuses", whom, 4)) {
    if (!is_event) failed_at_ = clock_.now();
    return refuse_for_now();
  }
  if (happens("comes-late", whom, 2)) {
    ++tally_.late;
    late_.push_back({.arrives = clock_.now() + moves_.ticks("late-by", 1, 40), .request = request});
    return fail("no answer in time");
  }
  const bool is_creation = request.method == "POST" && place.kind == kPods;
  const bool is_deletion = request.method == "DELETE" && place.kind == kPods;
  const std::string version = is_deletion ? version_asked_for(request) : "";
  if (is_creation) check_creation(caller, request);
  if (is_deletion) check_deletion(caller, place, version);
  http::Response reply = write(request);
  if (reply.status >= 400 && !is_event) failed_at_ = clock_.now();
  if (first().scenario().loses_operator && happens("ends-writer", whom, 2)) {
    ++tally_.cut_short;
    if (moves_.percent("and-dies", 50)) {
      caller.is_dead = true;
      return fail("its process has ended");
    }
    caller.fence.close();  // for so long did this call take
  }
  if (!happens("loses-answer", whom, 3)) {
    if (is_creation && reply.status == 201) note_creation(caller, reply);
    if (is_deletion && reply.status == 409) caller.refused[place.name] = version;
    return reply;
  }
  ++tally_.lost_answers;
  return fail("the answer is lost");
}

Result<http::ResponseHead> SimulatedCluster::watch(const std::string& url, http::BodySink& sink) {
  const auto held = held_until_.find(place_of(url).kind);
  if (held == held_until_.end() || held->second <= clock_.now()) return server_.watch(url, sink);
  // The watch stays open, and sends nothing: it repeats only its position.
  const auto from = url.find("resourceVersion=") + 16;
  const std::string version = url.substr(from, url.find('&', from) - from);
  const json bookmark = {{"type", "BOOKMARK"}, {"object", {{"metadata", {{"resourceVersion", version}}}}}};
  const http::ResponseHead head{.status = 200, .headers = {}};
  if (auto taken = sink.on_head(head); !taken) return taken.error();
  if (auto taken = sink.on_bytes(bookmark.dump() + "\n"); !taken) return taken.error();
  return head;
}

}  // namespace ratoon::sim
