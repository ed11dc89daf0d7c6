#include "tests/property/operator/simulated_cluster.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "operator/kube/node_codec.h"
#include "tests/property/operator/documents.h"

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

constexpr const char* kPods = "pods";
constexpr const char* kNodes = "nodes";
constexpr const char* kJobs = "trainingjobs";
constexpr const char* kEvents = "events";
constexpr std::size_t kHistory = 40;  // events of each kind that the server remembers

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

SimulatedCluster::SimulatedCluster(std::uint64_t seed, const Scenario& scenario)
    : dice_(seed ^ 0x9e3779b97f4a7c15ULL),
      kubelets_(~seed),
      world_(Moves(seed), scenario),
      server_(dice_.below(std::numeric_limits<std::uint64_t>::max()), server_clock_) {
  clock_.advance(world_.now().since_boot);
  world_.refuse_early_resumes();
  const char* kubeconfig = std::getenv("RATOON_API_SERVER");
  const bool holds_pods = scenario.policies.holds_pods;
  behind_ = kubeconfig == nullptr ? make_memory_server(server_, clock_, holds_pods)
                                  : make_real_server(kubeconfig, server_, clock_, holds_pods);
  behind_->put(kJobs, job_document(world_.job()));
  world_.set_job_uid(server_.objects(kJobs).at(key_text())["metadata"]["uid"].get<std::string>());
  behind_->put(kJobs, behind_->unreadable_job());
  json stray = {{"metadata", {{"name", "stray"}, {"namespace", "default"}, {"uid", "stray"}}}};
  stray["metadata"]["labels"] = {{"ratoon.dev/job-uid", world_.job().meta.uid},
                                 {"ratoon.dev/index", "first"}};
  stray["spec"] = {{"containers", json::array({{{"name", "stray"}, {"image", "i"}}})}};
  behind_->put(kPods, std::move(stray));
  shown_generation_ = world_.job().meta.generation;
  show();
}

std::unique_ptr<http::HttpTransport> SimulatedCluster::connect(Caller& caller) {
  return std::make_unique<CallsOf>(*this, caller);
}

void SimulatedCluster::find_broken(const std::string& sentence) {
  if (broken_.empty()) broken_ = sentence;
}

// What else happened at the server, then what it shows of it.
void SimulatedCluster::advance(bool is_chaos) {
  is_chaos_ = is_chaos;
  server_.set_faults(is_chaos);
  world_.advance(is_chaos);
  clock_.advance(kTick);
  std::vector<LateWrite> due;
  std::erase_if(late_, [&](LateWrite& late) {
    if (late.arrives > clock_.now()) return false;
    due.push_back(std::move(late));
    return true;
  });
  show();
  for (const auto& late : due) static_cast<void>(write(late.request));
  if (is_chaos) change_by_others();
  show();
  if (dice_.percent(10)) server_.forget_history(happens(20) ? 0 : kHistory);
}

void SimulatedCluster::change_by_others() {
  if (happens(3)) {  // somebody writes a note on the job: its version is another one
    const auto& objects = server_.objects(kJobs);
    const auto found = objects.find(key_text());
    if (found == objects.end()) return;
    json object = found->second;
    object["metadata"]["annotations"] = {{"note", std::to_string(++notes_)}};
    behind_->put(kJobs, std::move(object));
  }
  if (happens(1)) behind_->put(kJobs, behind_->unreadable_job());
  // A kubelet writes what nobody reads. A pod that is deleted may be gone at any moment.
  auto pods = world_.pods();
  std::erase_if(pods, [](const api::Pod& pod) { return pod.node.empty() || pod.is_deleting; });
  if (!pods.empty() && kubelets_.percent(10)) {
    json object = server_.objects(kPods).at("default/" + pods[kubelets_.below(pods.size())].name);
    object["metadata"]["annotations"]["note"] = std::to_string(++notes_);
    behind_->put(kPods, std::move(object));
  }
  for (const char* kind : {kPods, kNodes, kJobs})
    if (happens(3)) held_until_[kind] = clock_.now() + dice_.ticks(1, 40);
}

void SimulatedCluster::show_pod(const api::Pod& pod) {
  const auto known = shown_.find(pod.uid);
  if (known != shown_.end() && known->second == pod) return;
  shown_[pod.uid] = pod;
  const auto made = server_.objects(kPods).find(key().name_space + "/" + pod.name);
  if (made == server_.objects(kPods).end() || made->second["metadata"]["uid"] != pod.uid)
    return find_broken("the server does not have " + pod.name + " any more, and the world does");
  behind_->put(kPods, pod_document(made->second, pod));
}

void SimulatedCluster::show() {
  std::set<std::string> living;
  for (const auto& pod : world_.pods()) living.insert(pod.uid);
  std::vector<std::string> gone;
  for (const auto& [key, object] : server_.objects(kPods)) {
    const auto uid = object["metadata"]["uid"].get<std::string>();
    if (object["metadata"]["name"] != "stray" && !living.contains(uid)) gone.push_back(key);
  }
  for (const auto& key : gone) behind_->remove(kPods, key);
  std::erase_if(shown_, [&](const auto& item) { return !living.contains(item.first); });
  for (const auto& pod : world_.pods()) show_pod(pod);

  std::vector<std::string> lost;
  for (const auto& [key, object] : server_.objects(kNodes))
    if (!world_.nodes().contains(key.substr(1))) lost.push_back(key);
  for (const auto& key : lost) behind_->remove(kNodes, key);
  for (const auto& [name, entry] : world_.nodes()) {
    json document = node_document(entry.node);
    const auto known = server_.objects(kNodes).find("/" + name);
    const bool is_shown = known != server_.objects(kNodes).end() &&
                          *kube::decode_node(known->second) == *kube::decode_node(document);
    if (!is_shown) behind_->put(kNodes, std::move(document));
  }
  const auto job = server_.objects(kJobs).find(key_text());
  if (job == server_.objects(kJobs).end() || shown_generation_ == world_.job().meta.generation) return;
  shown_generation_ = world_.job().meta.generation;
  json object = job->second;
  object["spec"] = spec_document(world_.job().spec);
  object["metadata"]["generation"] = shown_generation_;
  behind_->put(kJobs, std::move(object));
}

http::Response SimulatedCluster::refuse_for_now() {
  ++tally_.refusals;
  http::Response reply = dice_.percent(50)   ? refusal_of(429, "TooManyRequests")
                         : dice_.percent(50) ? refusal_of(503, "ServiceUnavailable")
                                             : refusal_of(500, "InternalError");
  // It is asked once more at once: to wait would be the only thing here that takes real time.
  if (reply.status != 500) reply.headers.set("Retry-After", "0");
  return reply;
}

// Jobs, pods and nodes are read; pods and events are made, pods and jobs deleted by their UID, and of a job
// nothing but its status is changed. Nothing is done in another namespace.
void SimulatedCluster::check_rights(const http::Request& request, const Place& place) {
  const std::string what = request.method + " " + place.kind + (place.part.empty() ? "" : "/" + place.part);
  static const std::set<std::string> kRights = {
      "GET nodes",   "GET pods",    "GET trainingjobs",    "POST pods",
      "POST events", "DELETE pods", "DELETE trainingjobs", "PATCH trainingjobs/status",
      "PATCH events"};
  if (!kRights.contains(what)) find_broken("it has no right to: " + what);
  if (!place.name_space.empty() && place.name_space != key().name_space)
    find_broken("it is in another namespace: " + request.url);
  const bool is_told = what == "PATCH trainingjobs/status";
  if (place.name == "poison" && !is_told) find_broken("a job that cannot be read was touched: " + what);
}

// Who was told that its pod is there makes it once.
void SimulatedCluster::check_creation(const Caller& caller, const http::Request& request) {
  const std::string name = json::parse(request.body)["metadata"]["name"].get<std::string>();
  const auto made = caller.made.find(name);
  const auto& pods = server_.objects(kPods);
  const auto there = pods.find(key().name_space + "/" + name);
  if (made == caller.made.end() || there == pods.end()) return;
  if (there->second["metadata"]["uid"] == made->second) find_broken(name + " was made already");
}

void SimulatedCluster::note_creation(Caller& caller, const http::Response& reply) {
  const json made = json::parse(reply.body)["metadata"];
  caller.made[made["name"].get<std::string>()] = made["uid"].get<std::string>();
}

// Who was refused since the pod has changed does not ask for the same again: it looks at the pod.
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
    if (happens(5)) return refuse_for_now();
    return behind_->call(request);
  }
  if (!caller.fence.is_open(clock_.now())) find_broken("one that does not lead writes: " + request.url);
  const bool is_event = place.kind == kEvents;
  const auto fail = [&](const char* why) {
    if (!is_event) failed_at_ = clock_.now();
    return Error(ErrorKind::kTimeout, why);
  };
  ++tally_.writes;
  if (happens(4)) {
    if (!is_event) failed_at_ = clock_.now();
    return refuse_for_now();
  }
  if (happens(2)) {
    ++tally_.late;
    late_.push_back({.arrives = clock_.now() + dice_.ticks(1, 40), .request = request});
    return fail("no answer in time");
  }
  const bool is_creation = request.method == "POST" && place.kind == kPods;
  const bool is_deletion = request.method == "DELETE" && place.kind == kPods;
  const std::string version = is_deletion ? version_asked_for(request) : "";
  if (is_creation) check_creation(caller, request);
  if (is_deletion) check_deletion(caller, place, version);
  http::Response reply = write(request);
  if (reply.status >= 400 && !is_event) failed_at_ = clock_.now();
  if (world_.scenario().loses_operator && happens(2)) {
    ++tally_.cut_short;
    if (dice_.percent(50)) {
      caller.is_dead = true;
      return fail("its process has ended");
    }
    caller.fence.close();  // for so long did this call take
  }
  if (!happens(3)) {
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
  // It lasts, and says nothing: where it stood is all that it repeats.
  const auto from = url.find("resourceVersion=") + 16;
  const std::string version = url.substr(from, url.find('&', from) - from);
  const json bookmark = {{"type", "BOOKMARK"}, {"object", {{"metadata", {{"resourceVersion", version}}}}}};
  const http::ResponseHead head{.status = 200, .headers = {}};
  if (auto taken = sink.on_head(head); !taken) return taken.error();
  if (auto taken = sink.on_bytes(bookmark.dump() + "\n"); !taken) return taken.error();
  return head;
}

}  // namespace ratoon::sim
