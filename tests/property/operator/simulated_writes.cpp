// What the server does when an operator writes, and the promises about it.
#include <algorithm>

#include "base/contract/names.h"
#include "operator/kube/lenient.h"
#include "operator/kube/pod_codec.h"
#include "tests/property/operator/documents.h"
#include "tests/property/operator/laws.h"
#include "tests/property/operator/simulated_cluster.h"

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

http::Response answer(int code, const json& object) {
  return {.status = code, .headers = {}, .body = object.dump()};
}

http::Response refusal(int code, const char* reason) {
  return answer(code, {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason}});
}

std::uint32_t counted_in(const api::TrainingJobStatus& status) {
  return status.restarts.application + status.restarts.hung + status.restarts.disruption;
}

}  // namespace

http::Response SimulatedCluster::write(const http::Request& request) {
  const Place place = place_of(request.url);
  json body = request.body.empty() ? json::object() : json::parse(request.body);
  if (place.kind == "events") {
    // A pod of our own that is there already is none that was refused.
    if (body.value("reason", "") == "PodRefused") find_broken("a pod is told as refused: " + body.dump());
    return answer(201, body);
  }
  if (request.method == "POST") return create_pod(std::move(body));
  if (request.method == "PATCH") return patch_status(place, body);
  return place.kind == "pods" ? delete_pod(place, body) : delete_job(place, body);
}

http::Response SimulatedCluster::create_pod(json body) {
  body["metadata"]["uid"] = "to-be-drawn";
  auto made = kube::decode_pod(body);
  if (!made) {
    find_broken("a pod that is no member: " + made.error().message());
    return refusal(422, "Invalid");
  }
  const std::string key = made->name_space + "/" + made->pod.name;
  if (server_.objects("pods").contains(key)) {
    ++tally_.exist_already;
    return refusal(409, "AlreadyExists");
  }
  made->pod.uid.clear();
  const auto avoided = std::exchange(made->pod.avoided_nodes, {});
  world_.create_pod({.pod = made->pod, .avoid_nodes = avoided});
  const auto pods = world_.pods();
  const auto pod =
      std::find_if(pods.begin(), pods.end(), [&](const auto& p) { return p.name == made->pod.name; });
  // The server takes a late one of a job that is gone, and its collector takes it away.
  if (world_.is_job_gone()) world_.delete_pod(pod->uid, false);
  shown_[pod->uid] = *pod;
  return answer(201, server_.put("pods", pod_document(std::move(body), *pod)));
}

http::Response SimulatedCluster::delete_pod(const Place& place, const json& options) {
  const std::string uid = kube::text_in(kube::child(options, "preconditions"), "uid");
  const std::string version = kube::text_in(kube::child(options, "preconditions"), "resourceVersion");
  if (uid.empty()) find_broken("the deletion of " + place.name + " names no UID");
  if (version.empty()) find_broken("the deletion of " + place.name + " names no version that it builds on");
  show();
  const auto pods = world_.pods();
  const auto pod =
      std::find_if(pods.begin(), pods.end(), [&](const auto& p) { return p.name == place.name; });
  if (pod == pods.end()) return refusal(404, "NotFound");
  if (pod->uid != uid) return refusal(409, "Conflict");
  if (server_.objects("pods").at(place.name_space + "/" + place.name)["metadata"]["resourceVersion"] !=
      version) {
    ++tally_.changed_pods;
    return refusal(409, "Conflict");
  }
  const auto& status = world_.job().status;
  const bool is_on_roster = std::any_of(status.members.begin(), status.members.end(), [&](const auto& m) {
    return m.uid == uid || (m.is_leaving() && m.successor_uid == uid);
  });
  if (is_on_roster && !api::is_over(status.phase) && !may_end_.contains(uid))
    find_broken(place.name + " is on the roster and was deleted");
  world_.delete_pod(uid, is_chaos_);
  show();
  return answer(200, server_.objects("pods").at(place.name_space + "/" + place.name));
}

http::Response SimulatedCluster::delete_job(const Place& place, const json& options) {
  const std::string key = place.name_space + "/" + place.name;
  const auto found = server_.objects("trainingjobs").find(key);
  if (found == server_.objects("trainingjobs").end()) return refusal(404, "NotFound");
  const json& preconditions = kube::child(options, "preconditions");
  const json& meta = found->second["metadata"];
  if (kube::text_in(preconditions, "uid") != meta["uid"] ||
      kube::text_in(preconditions, "resourceVersion") != meta["resourceVersion"])
    return refusal(409, "Conflict");
  const auto& job = world_.job();
  const auto ttl = job.spec.ttl_seconds_after_finished;
  const bool is_time =
      ttl && job.status.completed_at &&
      job.status.completed_at->since_epoch + std::chrono::seconds(*ttl) <= world_.wall_now().since_epoch;
  if (!is_time) find_broken("the job was deleted before its time");
  world_.delete_job();
  server_.remove("trainingjobs", key);
  return answer(200, {{"kind", "Status"}, {"status", "Success"}});
}

http::Response SimulatedCluster::patch_status(const Place& place, const json& body) {
  const auto& objects = server_.objects("trainingjobs");
  const auto found = objects.find(place.name_space + "/" + place.name);
  if (found == objects.end()) return refusal(404, "NotFound");
  json object = found->second;
  const std::string version = kube::text_in(kube::child(body, "metadata"), "resourceVersion");
  if (version.empty()) find_broken("a status names no version that it builds on");
  if (version != object["metadata"]["resourceVersion"]) {
    ++tally_.conflicts;
    return refusal(409, "Conflict");
  }
  const json before = object.value("status", json::object());
  json after = before;
  after.merge_patch(body["status"]);
  if (after == before) find_broken("a status was written though nothing changes");
  object["status"] = std::move(after);
  if (place.name == "poison") {  // it is told what is wrong, and that alone
    const json& all = object["status"]["conditions"];
    if (body["status"].size() != 1 || all.size() != 2 || all[0] != before["conditions"][0] ||
        all[1].value("type", "") != "InvalidSpec" || all[1].value("status", "") != "True")
      find_broken("a job that cannot be read was touched: " + body.dump());
    ++tally_.complaints;
    return answer(200, server_.put("trainingjobs", std::move(object)));
  }
  const auto decoded = api::decode_training_job(object);
  if (!decoded) {
    find_broken("a status that cannot be read: " + decoded.error().message());
    return refusal(422, "Invalid");
  }
  check_status(world_.job().status, decoded->status);
  world_.store_status(decoded->status);
  return answer(200, server_.put("trainingjobs", std::move(object)));
}

// Of what is stored, whoever stored it.
void SimulatedCluster::check_status(const api::TrainingJobStatus& before,
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
    if (member.is_completed && after.phase == api::JobPhase::kSuspended) may_end_.insert(member.uid);
    if (member.incarnation < known->incarnation) find_broken(name_of(member) + " went back");
    if (member.incarnation != known->incarnation)
      ++ends;
    else if (!known->uid.empty() && member.uid != known->uid)
      find_broken("another pod took the name of " + name_of(member));
    if (known->is_leaving() && (member.successor > known->successor || member.incarnation > known->successor))
      ++ends;  // its successor was lost too
    if (after.is_formed && !member.is_absent)
      stored_.emplace(after.attempt, member.role, member.index, member.uid);
  }
  if (counted_in(after) - counted_in(before) > ends) find_broken("an end was counted twice");
}

// Members are told what is stored, and what they resume is what was reported durable.
void SimulatedCluster::announce(const api::Announcement& announcement) {
  const auto& world = announcement.world;
  if (announcement.attempt > world_.job().status.attempt) find_broken("members were told what is not stored");
  std::vector<std::string> uids(world.size());
  for (const auto& seat : world) {
    const auto& who = seat.process;
    if (!stored_.contains({announcement.attempt, who.role, who.index, who.member_uid}))
      find_broken(who.member_uid + " has a seat and is not stored as a member of that world");
    if (seat.assignment.rank.value() >= uids.size())
      find_broken("a rank beyond the world");
    else
      uids[seat.assignment.rank.value()] = who.member_uid;
  }
  if (!world.empty()) {
    const auto [known, is_new] = told_.emplace(announcement.attempt, uids);
    if (!is_new && known->second != uids) find_broken("one attempt, two worlds");
    const auto& resume = world.front().assignment.resume;
    const Lineage from = resume ? Lineage{resume->attempt, resume->step} : Lineage{};
    const auto committed = world_.checkpoints().find(from);
    if (resume && (committed == world_.checkpoints().end() || committed->second != resume->digest))
      find_broken("it resumes what was never committed");
    if (is_new && from < resumed_) find_broken("the run went backwards");
    const auto& last = world_.job().status.last_checkpoint;
    const bool is_current = announcement.attempt == world_.job().status.attempt;
    if (is_new && is_current && last && from < Lineage{last->attempt, last->step})
      find_broken("what was reported durable is lost");
    resumed_ = std::max(resumed_, from);
  }
  world_.announce(announcement);
}

}  // namespace ratoon::sim
