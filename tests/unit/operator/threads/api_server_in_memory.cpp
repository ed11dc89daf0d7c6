#include "tests/unit/operator/threads/api_server_in_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/contract/names.h"
#include "base/core/clock.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::test {
namespace {

using json = nlohmann::json;

constexpr int kThreads = 4;

http::Response answer_of(int code, const json& object) {
  return {.status = code, .headers = {{"Content-Type", "application/json"}}, .body = object.dump()};
}

http::Response refusal_of(int code, const char* reason) {
  return answer_of(
      code,
      {{"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}, {"message", reason}});
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

std::string parameter(const std::string& query, const std::string& name) {
  for (const std::string& part : parts_of(query, '&'))
    if (part.starts_with(name + "=")) return part.substr(name.size() + 1);
  return "";
}

// A token names its owner in clear text: namespace/pod/uid.
http::Response review(const json& asked) {
  const auto whose = parts_of(asked["spec"]["token"].get<std::string>(), '/');
  if (whose.size() != 3) return answer_of(201, {{"status", {{"authenticated", false}}}});
  const json extra = {{"authentication.kubernetes.io/pod-name", json::array({whose[1]})},
                      {"authentication.kubernetes.io/pod-uid", json::array({whose[2]})}};
  const json user = {{"username", "system:serviceaccount:" + whose[0] + ":default"}, {"extra", extra}};
  return answer_of(201, {{"status",
                          {{"authenticated", true},
                           {"audiences", json::array({std::string(names::kTokenAudience)})},
                           {"user", user}}}});
}

bool is_as_stated(const json& object, const json& stated) {
  const json& meta = kube::child(object, "metadata");
  return std::ranges::all_of(std::initializer_list<const char*>{"uid", "resourceVersion"},
                             [&](const char* what) {
                               const auto text = kube::string_field(stated, what);
                               return text.empty() || text == kube::string_field(meta, what);
                             });
}

}  // namespace

ApiServerInMemory::ApiServerInMemory()
    : server_(http::HttpServer::start({.threads = kThreads},
                                      [this](const http::ServerRequest& request, http::Responder responder) {
                                        receive(request, std::move(responder));
                                      })
                  .value()),
      teller_([this](const std::stop_token& stop) { tell_watches(stop); }) {}

ApiServerInMemory::~ApiServerInMemory() {
  server_->stop();  // first: writes to watches end with it
}

std::string ApiServerInMemory::key_of(const json& object) {
  const json& meta = kube::child(object, "metadata");
  return kube::string_field(meta, "namespace") + "/" + kube::string_field(meta, "name");
}

void ApiServerInMemory::put(const std::string& kind, json object) {
  const std::lock_guard lock(mutex_);
  store(kind, std::move(object));
}

bool ApiServerInMemory::change(const std::string& kind, const std::string& key,
                               const std::function<void(json&)>& change) {
  const std::lock_guard lock(mutex_);
  const auto& objects = kinds_[kind].objects;
  const auto found = objects.find(key);
  if (found == objects.end()) return false;
  json object = found->second;
  change(object);
  store(kind, std::move(object));
  return true;
}

void ApiServerInMemory::remove(const std::string& kind, const std::string& key) {
  const std::lock_guard lock(mutex_);
  erase(kind, key);
}

std::vector<json> ApiServerInMemory::objects(const std::string& kind, const std::string& name_space) const {
  const std::lock_guard lock(mutex_);
  std::vector<json> all;
  const auto found = kinds_.find(kind);
  if (found == kinds_.end()) return all;
  const std::string prefix = name_space.empty() ? "" : name_space + "/";
  const auto& objects = found->second.objects;
  for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at)
    all.push_back(at->second);
  return all;
}

void ApiServerInMemory::disturb(Disturb disturb) {
  const std::lock_guard lock(mutex_);
  disturb_ = std::move(disturb);
}

std::optional<json> ApiServerInMemory::find(const std::string& kind, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto all = kinds_.find(kind);
  if (all == kinds_.end()) return std::nullopt;
  const auto found = all->second.objects.find(key);
  return found == all->second.objects.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t ApiServerInMemory::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::uint64_t ApiServerInMemory::wait_for_news(std::uint64_t version, const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return version_ > version; });
  return version_;
}

std::size_t ApiServerInMemory::abandoned() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(unanswered_, [](const auto& responder) { return responder.is_abandoned(); }));
}

const json& ApiServerInMemory::store(const std::string& kind, json object) {
  json& meta = object["metadata"];
  meta["resourceVersion"] = std::to_string(++version_);
  if (!meta.contains("uid")) meta["uid"] = "uid-" + std::to_string(version_);
  const auto [at, is_new] = kinds_[kind].objects.insert_or_assign(key_of(object), object);
  note(kind, is_new ? "ADDED" : "MODIFIED", object);
  return at->second;
}

void ApiServerInMemory::erase(const std::string& kind, const std::string& key) {
  auto found = kinds_[kind].objects.extract(key);
  if (found.empty()) return;
  found.mapped()["metadata"]["resourceVersion"] = std::to_string(++version_);
  note(kind, "DELETED", found.mapped());
}

void ApiServerInMemory::note(const std::string& kind, const char* type, const json& object) {
  const std::string line = json{{"type", type}, {"object", object}}.dump() + "\n";
  kinds_[kind].history.push_back({.version = version_, .line = line});
  changed_.notify_all();
}

void ApiServerInMemory::tell_watches(const std::stop_token& stop) {
  std::vector<Watch> watches;
  for (std::uint64_t told = 0; !stop.stop_requested();) {
    std::vector<std::string> lines;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return version_ > told || !begun_.empty(); });
      told = version_;
      std::ranges::move(begun_, std::back_inserter(watches));
      begun_.clear();
      for (Watch& watch : watches) lines.push_back(lines_for(watch));
    }
    std::vector<Watch> open;  // those whose other side is not gone
    for (std::size_t i = 0; i < watches.size(); ++i)
      if (lines[i].empty() || watches[i].writer->write(lines[i])) open.push_back(std::move(watches[i]));
    watches = std::move(open);
  }
}

std::string ApiServerInMemory::lines_for(Watch& watch) const {
  std::string lines;
  const auto kind = kinds_.find(watch.kind);
  if (kind == kinds_.end()) return lines;
  for (const Event& event : kind->second.history)
    if (event.version > watch.version) lines += event.line;
  watch.version = version_;
  return lines;
}

// /api/v1/namespaces/NAMESPACE/KIND/NAME/PART, or /api/v1/KIND without a namespace.
ApiServerInMemory::Place ApiServerInMemory::place_of(const std::string& path) {
  const auto parts = parts_of(path, '/');
  const auto at = std::ranges::find(parts, "namespaces");
  if (at == parts.end()) return {.name_space = "", .kind = parts.back(), .name = "", .part = ""};
  std::vector<std::string> named(at + 1, parts.end());
  named.resize(4);
  return {.name_space = named[0], .kind = named[1], .name = named[2], .part = named[3]};
}

void ApiServerInMemory::receive(const http::ServerRequest& request, http::Responder responder) {
  const Place place = place_of(request.path);
  const json body = request.body.empty() ? json::object() : json::parse(request.body);
  const std::lock_guard lock(mutex_);
  if (const auto disturbance = disturb_ ? disturb_(request, body) : std::nullopt) {
    if (disturbance->answer) return responder.send(*disturbance->answer);
    return unanswered_.push_back(std::move(responder));
  }
  if (place.kind == "tokenreviews") return responder.send(review(body));
  if (parameter(request.query, "watch").empty()) return responder.send(answer(request, place, body));
  begun_.push_back({.kind = place.kind,
                    .version = std::stoull(parameter(request.query, "resourceVersion")),
                    .writer = responder.stream(200, {{"Content-Type", "application/json"}})});
  changed_.notify_all();
}

http::Response ApiServerInMemory::answer(const http::ServerRequest& request, const Place& place,
                                         const json& body) {
  if (place.kind == "events") {
    ++events_;
    return answer_of(request.method == "POST" ? 201 : 200, body);
  }
  if (request.method == "POST") return create(place, body);
  if (request.method == "GET" && place.name.empty()) {
    json items = json::array();
    for (const auto& [key, object] : kinds_[place.kind].objects) items.push_back(object);
    return answer_of(200, {{"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", items}});
  }
  return write(request.method, place, body);
}

http::Response ApiServerInMemory::create(const Place& place, json object) {
  object["metadata"]["namespace"] = place.name_space;
  if (kinds_[place.kind].objects.contains(key_of(object))) return refusal_of(409, "AlreadyExists");
  if (place.kind == "pods") object["status"] = {{"phase", "Pending"}};
  return answer_of(201, store(place.kind, std::move(object)));
}

http::Response ApiServerInMemory::write(const std::string& method, const Place& place, const json& body) {
  const auto& objects = kinds_[place.kind].objects;
  const auto found = objects.find(place.name_space + "/" + place.name);
  if (found == objects.end()) return refusal_of(404, "NotFound");
  json object = found->second;
  if (method == "GET") return answer_of(200, object);
  if (!is_as_stated(object, kube::child(body, method == "DELETE" ? "preconditions" : "metadata")))
    return refusal_of(409, "Conflict");
  if (method != "DELETE") {
    if (place.part == "status")
      object["status"].merge_patch(kube::child(body, "status"));
    else
      object.merge_patch(body);
    return answer_of(200, store(place.kind, std::move(object)));
  }
  if (place.kind == "pods") {  // its kubelet ends it
    object["metadata"]["deletionTimestamp"] = format_rfc3339(SystemClock().wall_now());
    return answer_of(200, store(place.kind, std::move(object)));
  }
  erase(place.kind, key_of(object));
  return answer_of(200, {{"kind", "Status"}, {"status", "Success"}});
}

}  // namespace ratoon::test
