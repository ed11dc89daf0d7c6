// A server in memory: the API server's effects of writes, as far as operators can observe them.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/pod_codec.h"
#include "tests/property/operator/server_behind.h"

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

class MemoryServer final : public ServerBehind {
 public:
  MemoryServer(SimulatedApiServer& front, const Clock& clock, bool holds_pods)
      : front_(front), clock_(clock), holds_pods_(holds_pods) {}

  void put(const std::string& kind, json object) override { front_.put(kind, std::move(object)); }
  void remove(const std::string& kind, const std::string& key) override { front_.remove(kind, key); }

  http::Response call(const http::Request& request) override {
    const Place place = place_of(request.url);
    json body = request.body.empty() ? json::object() : json::parse(request.body);
    if (place.kind == "events") return answer_of(201, body);
    if (request.method == "POST") return create(place, std::move(body));
    const auto& objects = front_.objects(place.kind);
    const auto found = objects.find(place.name_space + "/" + place.name);
    if (found == objects.end()) return refusal_of(404, "NotFound");
    if (request.method == "GET") return answer_of(200, found->second);
    const json& before = found->second["metadata"];
    const json& stated = kube::child(body, request.method == "DELETE" ? "preconditions" : "metadata");
    for (const char* what : {"uid", "resourceVersion"})
      if (const auto text = kube::string_field(stated, what); !text.empty() && text != before[what])
        return refusal_of(409, "Conflict");
    if (request.method == "DELETE") return remove_at(place, found->second);
    json object = found->second;
    json status = object.value("status", json::object());
    status.merge_patch(body["status"]);
    object["status"] = std::move(status);
    return answer_of(200, front_.put(place.kind, std::move(object)));
  }

  // Fields that an older definition accepted.
  json unreadable_job() const override {
    return {{"metadata", {{"name", "poison"}, {"namespace", "default"}, {"uid", "poison"}}},
            {"spec", {{"numNodes", "many"}, {"roles", 7}}},
            {"status",
             {{"conditions", {{{"type", "Running"}, {"status", "True"}, {"others", "field"}}}},
              {"attempt", 3},
              {"unknown", {1, 2}}}}};
  }

 private:
  http::Response create(const Place& place, json body) {
    if (front_.objects(place.kind).contains(SimulatedApiServer::key_of(body)))
      return refusal_of(409, "AlreadyExists");
    const std::string job = kube::owning_job_uid(body);  // so that one job's do not depend on another's
    body["metadata"]["uid"] = "uid-" + std::to_string(++made_[job]) + (job == "job" ? "" : "-of-" + job);
    body["status"] = {{"phase", "Pending"}};
    return answer_of(201, front_.put(place.kind, std::move(body)));
  }

  // The end of a pod that runs, or has a finalizer, is known to the world.
  http::Response remove_at(const Place& place, json last) {
    const std::string key = place.name_space + "/" + place.name;
    if (place.kind != "pods") {
      front_.remove(place.kind, key);
      return answer_of(200, {{"kind", "Status"}, {"status", "Success"}});
    }
    const std::string phase = kube::string_field(kube::child(last, "status"), "phase");
    const bool runs = !kube::string_field(kube::child(last, "spec"), "nodeName").empty() &&
                      phase != "Succeeded" && phase != "Failed";
    if (runs || holds_pods_) return answer_of(200, last);
    last["metadata"]["deletionTimestamp"] = format_rfc3339(clock_.wall_now());
    front_.put(place.kind, std::move(last));
    return answer_of(200, front_.remove(place.kind, key));
  }

  SimulatedApiServer& front_;
  const Clock& clock_;
  const bool holds_pods_;
  std::map<std::string, std::uint64_t> made_;  // by UID of the job
};

}  // namespace

Place place_of(std::string_view url) {
  std::vector<std::string> parts;
  for (std::string_view rest = url.substr(0, url.find('?')); !rest.empty();) {
    const auto end = std::min(rest.find('/'), rest.size());
    parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  Place place;
  const auto at = std::find(parts.begin(), parts.end(), "namespaces");
  if (at == parts.end()) {
    place.kind = parts.back();
    return place;
  }
  std::vector<std::string> named(at + 1, parts.end());
  named.resize(4);
  return {.name_space = named[0], .kind = named[1], .name = named[2], .part = named[3]};
}

http::Response answer_of(int code, const json& object) {
  return {.status = code, .headers = {}, .body = object.dump()};
}

http::Response refusal_of(int code, const char* reason) {
  return answer_of(code, {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason}});
}

std::unique_ptr<ServerBehind> make_memory_server(SimulatedApiServer& front, const Clock& clock,
                                                 bool holds_pods) {
  return std::make_unique<MemoryServer>(front, clock, holds_pods);
}

}  // namespace ratoon::sim
