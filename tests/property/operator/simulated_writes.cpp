// The server's reactions to an operator's writes, and the promises about them.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/contract/names.h"
#include "base/core/split_join.h"
#include "operator/core/world/release_nodes.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/pod_codec.h"
#include "tests/property/operator/documents.h"
#include "tests/property/operator/laws.h"
#include "tests/property/operator/simulated_cluster.h"

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

constexpr std::int64_t kGraceOfPods = 30;  // where neither the pod nor the deletion says another

bool is_refused(const http::Response& reply) {
  return reply.status >= 300;
}

std::uint32_t counted_in(const api::TrainingJobStatus& status) {
  return status.restarts.application + status.restarts.hung + status.restarts.disruption;
}

// As a scheduler reads them in the pod's affinity. Which pod excludes which node it does not need to know.
std::vector<api::NodeToAvoid> nodes_avoided_in(const json& pod) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const json& affinity = kube::child(kube::child(pod, "spec"), "affinity");
  std::vector<api::MemberPodKey> pods;
  for (const auto& term : kube::items_of(kube::child(affinity, "podAntiAffinity"), kRequired)) {
    const json& labels = term["labelSelector"]["matchLabels"];
    const auto number = [&](std::string_view label) {
      return static_cast<std::uint32_t>(std::stoul(labels.at(label).get<std::string>()));
    };
    pods.push_back({.role = labels.at(names::label::kRole).get<std::string>(),
                    .index = number(names::label::kIndex),
                    .incarnation = number(names::label::kIncarnation)});
  }
  std::vector<api::NodeToAvoid> nodes;
  const json& annotations = kube::child(kube::child(pod, "metadata"), "annotations");
  const std::string excluded = kube::string_field(annotations, names::annotation::kAvoidedNodes.data());
  for (const auto& name : split(excluded, ',')) nodes.push_back({.name = name, .pods = pods});
  for (const auto& term : kube::items_of(kube::child(affinity, "nodeAffinity"), kPreferred))
    for (const auto& field : term["preference"]["matchFields"])
      nodes.push_back({.name = field["values"][0].get<std::string>()});
  return nodes;
}

}  // namespace

http::Response SimulatedCluster::write(const http::Request& request) {
  const Place place = place_of(request.url);
  json body = request.body.empty() ? json::object() : json::parse(request.body);
  if (place.kind == "events") {
    // A refusal because our own pod exists already does not count.
    if (body.value("reason", "") == "PodRefused") find_broken("a pod is told as refused: " + body.dump());
    return behind_->call(request);
  }
  if (request.method == "POST") return create_pod(request, std::move(body));
  if (request.method == "PATCH") return patch_status(request, body);
  return place.kind == "pods" ? delete_pod(request, body) : delete_job(request, body);
}

http::Response SimulatedCluster::create_pod(const http::Request& request, json body) {
  body["metadata"]["uid"] = "to-be-drawn";
  auto made = kube::decode_pod(body);
  if (!made) {
    find_broken("a pod that is no member: " + made.error().message());
    return refusal_of(422, "Invalid");
  }
  http::Response reply = behind_->call(request);
  if (reply.status == 409) ++tally_.exist_already;
  if (is_refused(reply)) {
    if (reply.status != 409) find_broken("the server refuses a pod: " + reply.body);
    return reply;
  }
  Served* job = find_owner(body);
  if (job == nullptr) {
    find_broken(made->pod.name + " is a pod of no job");
    return reply;
  }
  World& world = job->world;
  for (const auto& pod : world.pods())
    if (std::tie(pod.role, pod.index, pod.incarnation) ==
        std::tie(made->pod.role, made->pod.index, made->pod.incarnation))
      find_broken(made->pod.name + " is the second pod of an incarnation, beside " + pod.name);
  made->pod.uid = json::parse(reply.body)["metadata"]["uid"].get<std::string>();
  made->pod.group_rank_assignment = group_seat_in(body);
  made->pod.avoided_nodes.clear();
  world.create_pod({.pod = made->pod, .avoid_nodes = nodes_avoided_in(body)});
  if (is_writing_late_) world.note_late(made->pod.uid);
  for (const auto& pod : world.pods())
    if (pod.uid == made->pod.uid) job->shown[pod.uid] = pod;
  if (!world.is_job_gone()) return reply;
  // The server accepts a late pod of a deleted job, and its collector removes the pod.
  world.delete_pod(made->pod.uid, false);
  show();
  return reply;
}

http::Response SimulatedCluster::delete_pod(const http::Request& request, const json& options) {
  const Place place = place_of(request.url);
  const json& preconditions = kube::child(options, "preconditions");
  for (const char* what : {"uid", "resourceVersion"})
    if (kube::string_field(preconditions, what).empty())
      find_broken("the deletion of " + place.name + " names no " + what);
  http::Response reply = behind_->call(request);
  if (reply.status == 409) ++tally_.changed_pods;
  if (is_refused(reply)) return reply;
  const json deleted = json::parse(reply.body);
  const auto uid = deleted["metadata"]["uid"].get<std::string>();
  Served* job = find_owner(deleted);
  if (job == nullptr) {
    find_broken(place.name + ", a pod of no job, was deleted");
    return reply;
  }
  const auto& status = job->world.job().status;
  const bool is_on_roster = std::any_of(status.members.begin(), status.members.end(), [&](const auto& m) {
    return m.uid == uid || (m.is_leaving() && m.successor_uid == uid);
  });
  if (is_on_roster && !api::is_over(status.phase) && !job->may_end.contains(uid))
    find_broken(place.name + " is on the roster and was deleted");
  const auto grace = kube::int_field(options, "gracePeriodSeconds").value_or(kGraceOfPods);
  job->world.delete_pod(uid, is_chaos_, std::chrono::seconds(grace));
  show();
  const auto& pods = server_.objects("pods");
  const auto left = pods.find(place.name_space + "/" + place.name);
  return left == pods.end() ? reply : answer_of(200, left->second);
}

http::Response SimulatedCluster::delete_job(const http::Request& request, const json& options) {
  const json& preconditions = kube::child(options, "preconditions");
  for (const char* what : {"uid", "resourceVersion"})
    if (kube::string_field(preconditions, what).empty())
      find_broken("the deletion of the job names no " + std::string(what));
  http::Response reply = behind_->call(request);
  if (is_refused(reply)) return reply;
  const std::string name = place_of(request.url).name;
  Served* served = find_job(name);
  if (served == nullptr) {
    find_broken("deletes " + name + ", which is no job");
    return reply;
  }
  const auto& job = served->world.job();
  const auto ttl = job.spec.ttl_seconds_after_finished;
  const bool is_time = ttl && job.status.completed_at &&
                       job.status.completed_at->since_epoch + std::chrono::seconds(*ttl) <=
                           served->world.wall_now().since_epoch;
  if (!is_time) find_broken("the job was deleted before its time");
  served->world.delete_job();
  return reply;
}

http::Response SimulatedCluster::patch_status(const http::Request& request, const json& body) {
  const Place place = place_of(request.url);
  if (kube::string_field(kube::child(body, "metadata"), "resourceVersion").empty())
    find_broken("a status names no version that it builds on");
  const auto& objects = server_.objects("trainingjobs");
  const auto found = objects.find(place.name_space + "/" + place.name);
  const json before = found == objects.end() ? json() : found->second.value("status", json::object());
  http::Response reply = behind_->call(request);
  if (reply.status == 409) ++tally_.conflicts;
  if (is_refused(reply)) {
    if (reply.status != 409 && reply.status != 404) find_broken("the server refuses a status: " + reply.body);
    return reply;
  }
  const json object = json::parse(reply.body);
  if (object["status"] == before) find_broken("a status was written though nothing changes");
  if (place.name == "poison") {
    check_complaint(before, object["status"]);
    return reply;
  }
  const auto decoded = api::decode_training_job(object);
  if (!decoded) {
    find_broken("a status that cannot be read: " + decoded.error().message());
    return reply;
  }
  Served* job = find_job(place.name);
  if (job == nullptr) {
    find_broken("tells the status of " + place.name + ", which is no job");
    return reply;
  }
  check_status(*job, job->world.job().status, decoded->status);
  job->world.store_status(decoded->status);
  return reply;
}

// The status of a job that cannot be read gets the complaint, and no other field of it changes.
void SimulatedCluster::check_complaint(json before, json after) {
  const auto take_complaints = [](json& status) {
    json kept = json::array();
    int complaints = 0;
    for (const auto& condition : status.value("conditions", json::array())) {
      const bool is_complaint = condition.value("type", "") == api::condition::kInvalidSpec;
      complaints += is_complaint && condition.value("status", "") == "True" ? 1 : 0;
      if (!is_complaint) kept.push_back(condition);
    }
    status["conditions"] = std::move(kept);
    return complaints;
  };
  const std::string text = before.dump() + " became " + after.dump();
  static_cast<void>(take_complaints(before));
  if (take_complaints(after) != 1 || before != after)
    find_broken("a job that cannot be read was touched: " + text);
  ++tally_.complaints;
}

// The stored status, of any operator.
void SimulatedCluster::check_status(Served& job, const api::TrainingJobStatus& before,
                                    const api::TrainingJobStatus& after) {
  if (after.attempt < before.attempt) find_broken("an attempt went back");
  if (api::is_over(before.phase) && after.phase != before.phase) find_broken("a job that is over goes on");
  if (after.restarts.application < before.restarts.application ||
      after.restarts.hung < before.restarts.hung || after.restarts.disruption < before.restarts.disruption)
    find_broken("a counter went back");
  if (before.last_checkpoint && after.last_checkpoint &&
      Lineage{after.last_checkpoint->attempt, after.last_checkpoint->step} <
          Lineage{before.last_checkpoint->attempt, before.last_checkpoint->step})
    find_broken("what was reported durable went back");
  std::uint32_t ends = after.restarts.hung - before.restarts.hung;
  for (const auto& member : after.members) {
    const auto* known = find_member(before, member);
    if (known == nullptr) continue;
    const bool leaves_no_pod = (after.suspending_since && !after.is_world_formed) || core::is_released(after);
    if (member.is_completed && leaves_no_pod) job.may_end.insert(member.uid);
    if (member.incarnation < known->incarnation) find_broken(name_of(member) + " went back");
    if (member.incarnation != known->incarnation && member.has_been_in_world && !after.is_world_formed)
      find_broken(name_of(member) + " counts as a member of a world, and is new");
    if (member.incarnation != known->incarnation)
      ++ends;
    else if (!known->uid.empty() && member.uid != known->uid)
      find_broken("another pod took the name of " + name_of(member));
    if (known->is_leaving() && (member.successor > known->successor || member.incarnation > known->successor))
      ++ends;  // its successor was lost too
    if (after.is_world_formed && !member.is_absent)
      job.stored.emplace(after.attempt, member.role, member.index, member.uid);
  }
  for (const auto& member : before.members)
    if (find_member(after, member) == nullptr) ++ends;  // it ended, and a smaller job has no place for it
  if (counted_in(after) - counted_in(before) > ends) find_broken("an end was counted twice");
}

// Members are told the stored status, and they resume a checkpoint that was reported durable.
void SimulatedCluster::announce(const JobKey& key, const api::Announcement& announcement) {
  Served* job = find_job(key.name);
  if (job == nullptr) return find_broken("tells members of " + key.name + ", which is no job");
  const auto& status = job->world.job().status;
  const auto& world = announcement.world;
  if (announcement.attempt > status.attempt) find_broken("members were told what is not stored");
  std::vector<std::string> uids(world.size());
  for (const auto& seat : world) {
    const auto& who = seat.process;
    if (!job->stored.contains({announcement.attempt, who.role, who.index, who.member_uid}))
      find_broken(who.member_uid + " has a seat and is not stored as a member of that world");
    if (seat.assignment.rank.value() >= uids.size())
      find_broken("a rank beyond the world");
    else
      uids[seat.assignment.rank.value()] = who.member_uid;
  }
  if (!world.empty()) {
    const auto [known, is_new] = job->told.emplace(announcement.attempt, uids);
    if (!is_new && known->second != uids) find_broken("one attempt, two worlds");
    const auto& resume = world.front().assignment.resume;
    const Lineage from = resume ? Lineage{resume->attempt, resume->step} : Lineage{};
    const auto& all = job->world.storage().all();
    const auto committed = all.find(from);
    if (resume && (committed == all.end() || committed->second.digest != resume->digest))
      find_broken("it resumes what was never committed");
    if (is_new && from < job->resumed) find_broken("the run went backwards");
    const auto& last = status.last_checkpoint;
    const bool is_current = announcement.attempt == status.attempt;
    if (is_new && is_current && last && from < Lineage{last->attempt, last->step})
      find_broken("what was reported durable is lost");
    job->resumed = std::max(job->resumed, from);
  }
  job->world.announce(announcement);
}

}  // namespace ratoon::sim
