// A real API server behind the world. The events of the world are written to the real server with all rights,
// as kubelets, schedulers and owners would; operators' writes are passed on unchanged, so that the server's
// own rules decide; and the server's own watches report both before the test continues.
#include <algorithm>
#include <chrono>

#include "operator/kube/lenient_json.h"
#include "operator/kube/metadata.h"
#include "operator/kube/pods/pod_codec.h"
#include "operator/runtime/api_server/kubeconfig.h"
#include "tests/property/operator/server_behind.h"
#include "tests/property/operator/watched_kind.h"

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

constexpr const char* kFinalizer = "ratoon.test/held";
constexpr const char* kNamespace = "default";
constexpr const char* kMergePatch = "application/merge-patch+json";

kube::ObjectReference target_of(const std::string& kind, const json& meta) {
  return {.resource = resource_of(kind),
          .name_space = kind == "nodes" ? "" : kNamespace,
          .name = meta["name"].get<std::string>()};
}

bool is_deleting(const json& object) {
  return object["metadata"].contains("deletionTimestamp");
}

class RealServer final : public ServerBehind {
 public:
  RealServer(kube::ApiServerAccess access, SimulatedApiServer& front, const Clock& clock, bool holds_pods)
      : access_(std::move(access)),
        front_(front),
        clock_(clock),
        holds_pods_(holds_pods),
        client_(access_, real_clock_),
        transport_(http::make_direct_transport({.tls = {.ca_pem = access_.ca_pem,
                                                        .certificate_pem = access_.certificate_pem,
                                                        .private_key_pem = access_.private_key_pem}})) {
    empty();
    for (const char* kind : {"trainingjobs", "pods", "nodes"}) {
      const json list = must(client_.call(kube::list({.resource = resource_of(kind)}, 500, ""), {}));
      watched_.push_back(std::make_unique<WatchedKind>(
          client_, kind, list["metadata"]["resourceVersion"].get<std::string>()));
    }
    front_.set_lists([this](const std::string& url) { return list(url); });
  }

  void put(const std::string& kind, json object) override {
    const json* known = find(kind, SimulatedApiServer::key_of(object));
    if (known == nullptr) return create(kind, std::move(object));
    if (kind == "pods") return change_pod(object);
    if (kind == "trainingjobs") return change_job(object);
    const json& spec = object["spec"];
    if (known->value("spec", json::object()) != spec)
      reach(kind, patch(target_of(kind, object["metadata"]), {{"spec", spec}}));
    known = find(kind, SimulatedApiServer::key_of(object));
    if (is_deleting(object) && !is_deleting(*known)) end(kind, (*known)["metadata"], 0);
  }

  void remove(const std::string& kind, const std::string& key) override {
    const json* known = find(kind, key);
    if (known == nullptr) return;
    const json meta = (*known)["metadata"];
    let_go(kind, meta);
    await(kind, [&] { return find(kind, key) == nullptr; });
  }

  http::Response call(const http::Request& request) override {
    const Place place = place_of(request.url);
    http::Request handed_on = request;
    if (request.method == "POST" && place.kind == "pods" && holds_pods_) {
      json body = json::parse(request.body);  // as an admission webhook does
      body["metadata"]["finalizers"] = {kFinalizer};
      handed_on.body = body.dump();
    }
    http::Response reply = hand_on(std::move(handed_on));
    if (request.method == "GET" || reply.status >= 300 || place.kind == "events") return reply;
    const json object = json::parse(reply.body);
    if (request.method == "DELETE")
      await(place.kind, [&] { return ends(place, object); });
    else
      reach(place.kind, object);
    return reply;
  }

  json unreadable_job() const override {
    const json container = {{"name", "trainer"},
                            {"image", "i"},
                            {"command", {"train"}},
                            {"resources", {{"limits", {{"memory", "much"}}}}}};
    const json role = {{"name", "worker"}, {"template", {{"spec", {{"containers", {container}}}}}}};
    return {{"metadata", {{"name", "poison"}, {"namespace", kNamespace}}}, {"spec", {{"roles", {role}}}}};
  }

 private:
  // No object of an earlier world is left.
  void empty() {
    for (const char* kind : {"trainingjobs", "pods", "nodes"}) {
      const json list = must(client_.call(kube::list({.resource = resource_of(kind)}, 500, ""), {}));
      for (const auto& item : list["items"]) let_go(kind, item["metadata"]);
    }
    const std::string events = "/apis/events.k8s.io/v1/namespaces/" + std::string(kNamespace) + "/events";
    must(client_.call(kube::ApiRequest{.method = "DELETE", .target = events}, {}));
  }

  [[nodiscard]] const json* find(const std::string& kind, const std::string& key) {
    const auto& objects = front_.objects(kind);
    const auto found = objects.find(key);
    return found == objects.end() ? nullptr : &found->second;
  }

  json patch(const kube::ObjectReference& target, const json& change) {
    return must(client_.call(kube::make_patch_request(target, change), {}));
  }

  void create(const std::string& kind, json object) {
    object["metadata"].erase("uid");
    object["metadata"].erase("generation");
    if (kind == "nodes") object["metadata"]["finalizers"] = {kFinalizer};
    object["apiVersion"] = kind == "trainingjobs" ? "ratoon.dev/v1alpha1" : "v1";
    object["kind"] = kind == "trainingjobs" ? "TrainingJob" : kind == "pods" ? "Pod" : "Node";
    auto place = target_of(kind, object["metadata"]);
    place.name.clear();
    reach(kind, must(client_.call(kube::create(place, object), {})));
  }

  void change_job(const json& object) {
    const auto target = target_of("trainingjobs", object["metadata"]);
    json change = {{"spec", object["spec"]}};
    if (object["metadata"].contains("annotations"))
      change["metadata"] = {{"annotations", object["metadata"]["annotations"]}};
    reach("trainingjobs", patch(target, change));
  }

  // Deletes as schedulers, kubelets and evictions do.
  void change_pod(const json& wanted) {
    const std::string key = SimulatedApiServer::key_of(wanted);
    const json& meta = wanted["metadata"];
    const auto want = must(kube::decode_pod(wanted)).pod;
    const auto has = [&] { return must(kube::decode_pod(*find("pods", key))).pod; };
    const auto name = meta["name"].get<std::string>();
    const std::string path = "/api/v1/namespaces/" + std::string(kNamespace) + "/pods/" + name;
    if (has().node != want.node) {
      const json binding = {{"apiVersion", "v1"},
                            {"kind", "Binding"},
                            {"metadata", {{"name", name}}},
                            {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", want.node}}}};
      write("POST", path + "/binding", "application/json", binding);
      await("pods", [&] { return has().node == want.node; });
    }
    const json& notes = kube::child(meta, "annotations");
    if (notes != kube::child((*find("pods", key))["metadata"], "annotations"))
      reach("pods", patch(target_of("pods", meta), {{"metadata", {{"annotations", notes}}}}));
    // This comes first: a pod that is deleted after its end disappears at once, and in the world it has its
    // grace.
    if (want.is_deleting && !is_deleting(*find("pods", key))) {
      const Duration left = want.ends_at.value_or(WallTime{}).since_epoch - clock_.wall_now().since_epoch;
      end("pods", meta,
          static_cast<std::uint32_t>(std::max<std::int64_t>(1, left / std::chrono::seconds(1))));
    }
    auto like = has();
    like.is_deleting = want.is_deleting;
    like.ends_at = want.ends_at;
    if (like != want)
      reach("pods", write("PATCH", path + "/status", kMergePatch, {{"status", wanted["status"]}}));
  }

  json write(const char* method, const std::string& path, const char* type, const json& body) {
    return must(client_.call(
        kube::ApiRequest{.method = method, .target = path, .content_type = type, .body = body.dump()}, {}));
  }

  void end(const std::string& kind, const json& meta, std::uint32_t grace_seconds) {
    const auto request = kube::remove(target_of(kind, meta), meta["uid"].get<std::string>(), grace_seconds);
    must(client_.call(request, {}));
    const std::string key = SimulatedApiServer::key_of({{"metadata", meta}});
    await(kind, [&] {
      const json* known = find(kind, key);
      return known == nullptr || is_deleting(*known);
    });
  }

  // Deletes for any holder of a finalizer, and any grace.
  void let_go(const std::string& kind, const json& meta) {
    const auto target = target_of(kind, meta);
    if (meta.contains("finalizers")) patch(target, {{"metadata", {{"finalizers", nullptr}}}});
    const auto gone = client_.call(kube::remove(target, meta["uid"].get<std::string>(), 0), {});
    if (!gone && gone.error().kind() != ErrorKind::kNotFound) must(gone);
  }

  [[nodiscard]] http::Response hand_on(http::Request request) {
    constexpr std::string_view kWrittenAs = "http://api";
    request.url.replace(0, kWrittenAs.size(), access_.server);
    const http::Limits limits{.total = kAnswersWithin, .silence = kAnswersWithin};
    http::Response reply = must(transport_->call(request, limits, {}));
    if (reply.status < 300) {
      json body = json::parse(reply.body);
      tell_times(body);
      if (body.contains("items"))
        for (auto& item : body["items"]) tell_times(item);
      reply.body = body.dump();
    }
    return reply;
  }

  [[nodiscard]] http::Response list(const std::string& url) { return hand_on({.url = url}); }

  // The server's clock is not the world's: a deleted pod ends after its grace, counted from the world's
  // event.
  void tell_times(json& object) {
    if (!object.contains("metadata") || !is_deleting(object)) return;
    json& meta = object["metadata"];
    const auto grace = std::chrono::seconds(meta.value("deletionGracePeriodSeconds", 0));
    const std::string which = meta["uid"].get<std::string>() + meta["deletionTimestamp"].get<std::string>();
    const auto told = ends_.try_emplace(which, WallTime{clock_.wall_now().since_epoch + grace}).first;
    meta["deletionTimestamp"] = format_rfc3339(told->second);
  }

  // Whether the front knows that an object deleted here is gone, or being deleted.
  [[nodiscard]] bool ends(const Place& place, const json& object) {
    const json* known = find(place.kind, place.name_space + "/" + place.name);
    return known == nullptr || is_deleting(*known) ||
           (object.value("kind", "") != "Status" && (*known)["metadata"]["uid"] != object["metadata"]["uid"]);
  }

  void reach(const std::string& kind, const json& object) {
    const std::string key = SimulatedApiServer::key_of(object);
    await(kind, [&] {
      const json* known = find(kind, key);
      return known != nullptr && kube::resource_version_in(*known) >= kube::resource_version_in(object);
    });
  }

  template <class Condition>
  void await(const std::string& kind, const Condition& is_true) {
    for (const auto& watched : watched_) {
      if (watched->kind() != kind) continue;
      while (!is_true())
        for (auto& event : watched->take()) pass_on(kind, event);
    }
  }

  void pass_on(const std::string& kind, kube::WatchEvent& event) {
    using Kind = kube::WatchEventKind;
    tell_times(event.object);
    front_.pass_on(kind,
                   event.kind == Kind::kAdded     ? "ADDED"
                   : event.kind == Kind::kDeleted ? "DELETED"
                                                  : "MODIFIED",
                   event.object);
  }

  const kube::ApiServerAccess access_;
  SimulatedApiServer& front_;
  const Clock& clock_;
  const bool holds_pods_;
  const SystemClock real_clock_;
  const runtime::ApiClient client_;
  const std::unique_ptr<http::HttpTransport> transport_;
  std::map<std::string, WallTime> ends_;  // by UID and the server's own time
  std::vector<std::unique_ptr<WatchedKind>> watched_;
};

}  // namespace

std::unique_ptr<ServerBehind> make_real_server(const std::string& kubeconfig, SimulatedApiServer& front,
                                               const Clock& clock, bool holds_pods) {
  return std::make_unique<RealServer>(must(runtime::read_kubeconfig(kubeconfig)), front, clock, holds_pods);
}

}  // namespace ratoon::sim
