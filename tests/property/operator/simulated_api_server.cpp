#include "tests/property/operator/simulated_api_server.h"

#include <algorithm>
#include <chrono>

namespace ratoon::sim {
namespace {

using json = nlohmann::json;

std::string parameter(std::string_view url, const std::string& name) {
  auto at = url.find("?" + name + "=");
  if (at == std::string_view::npos) at = url.find("&" + name + "=");
  if (at == std::string_view::npos) return "";
  const auto from = at + name.size() + 2;
  return std::string(url.substr(from, url.find('&', from) - from));
}

std::string kind_in(std::string_view url) {
  const std::string_view path = url.substr(0, url.find('?'));
  return std::string(path.substr(path.rfind('/') + 1));
}

json status_of(int code, const char* reason) {
  return {{"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}, {"message", reason}};
}

http::Response refusal(int code, const char* reason) {
  return {.status = code, .headers = {}, .body = status_of(code, reason).dump()};
}

std::string line_of(const char* type, const json& object) {
  return json{{"type", type}, {"object", object}}.dump() + "\n";
}

}  // namespace

std::string SimulatedApiServer::key_of(const json& object) {
  return object["metadata"].value("namespace", "") + "/" + object["metadata"].value("name", "");
}

void SimulatedApiServer::note(Kind& kind, const std::string& type, json object) {
  // An object that no client can read is sent each time: only a list leads past it.
  const bool is_nonsense = happens(1);
  tally_.nonsense += is_nonsense ? 1 : 0;
  kind.history.push_back(
      {.version = version_, .type = is_nonsense ? "WHAT" : type, .object = std::move(object)});
}

json SimulatedApiServer::put(const std::string& kind, json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Kind& all = kinds_[kind];
  const bool is_new = all.objects.insert_or_assign(key_of(object), object).second;
  note(all, is_new ? "ADDED" : "MODIFIED", object);
  return object;
}

json SimulatedApiServer::remove(const std::string& kind, const std::string& key) {
  Kind& all = kinds_[kind];
  const auto found = all.objects.find(key);
  if (found == all.objects.end()) return {};
  json last = std::move(found->second);
  all.objects.erase(found);
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  note(all, "DELETED", last);
  return last;
}

void SimulatedApiServer::pass_on(const std::string& kind, const std::string& type, const json& object) {
  const std::uint64_t version = std::stoull(object["metadata"]["resourceVersion"].get<std::string>());
  version_ = std::max(version_, version);
  Kind& all = kinds_[kind];
  if (type == "DELETED")
    all.objects.erase(key_of(object));
  else
    all.objects.insert_or_assign(key_of(object), object);
  note(all, type, object);
  all.history.back().version = version;
}

void SimulatedApiServer::forget_history(std::size_t kept) {
  for (auto& [name, kind] : kinds_) {
    const auto end =
        std::prev(kind.history.end(), static_cast<std::ptrdiff_t>(std::min(kept, kind.history.size())));
    if (kept == 0)
      kind.forgotten = version_;
    else if (end != kind.history.begin())
      kind.forgotten = std::prev(end)->version;
    kind.history.erase(kind.history.begin(), end);
  }
  snapshots_.clear();
}

Result<http::Response> SimulatedApiServer::answer(const std::string& url) {
  ++tally_.lists;
  if (are_drawn_ && meanwhile_) meanwhile_();
  clock_.advance(std::chrono::milliseconds(5));
  if (happens(10)) {
    ++tally_.refusals;
    return dice_.percent(50) ? refusal(429, "TooManyRequests") : refusal(500, "InternalError");
  }
  if (happens(5)) return Error(ErrorKind::kUnavailable, "cut off");
  http::Response page = page_of(url);
  if (page.status == 200 && happens(3)) page.body.resize(page.body.size() / 2);
  return page;
}

http::Response SimulatedApiServer::page_of(const std::string& url) {
  Snapshot rest;
  const std::string token = parameter(url, "continue");
  if (lists_) {
    if (!token.empty() && happens(10)) return refusal(410, "Expired");
    http::Response page = lists_(url);
    if (page.status != 200) return page;
    const std::string version = json::parse(page.body)["metadata"]["resourceVersion"].get<std::string>();
    version_ = std::max<std::uint64_t>(version_, std::stoull(version));
    return page;
  }
  if (token.empty()) {
    for (const auto& [key, object] : kinds_[kind_in(url)].objects) rest.items.push_back(object);
    rest.version = version_;
  } else if (const auto known = snapshots_.find(token); known != snapshots_.end() && !happens(10)) {
    rest = known->second;  // whoever could not read that page may ask for it again
  } else {
    ++tally_.expirations;
    return refusal(410, "Expired");
  }
  json page = {{"metadata", {{"resourceVersion", std::to_string(rest.version)}}}, {"items", json::array()}};
  const std::size_t limit = std::stoul(parameter(url, "limit"));
  const auto end = rest.items.begin() + static_cast<std::ptrdiff_t>(std::min(limit, rest.items.size()));
  for (auto item = rest.items.begin(); item != end; ++item) page["items"].push_back(*item);
  rest.items.erase(rest.items.begin(), end);
  if (!rest.items.empty()) {
    const std::string next = "page-" + std::to_string(++tokens_);
    page["metadata"]["continue"] = next;
    snapshots_[next] = std::move(rest);
  }
  return {.status = 200, .headers = {}, .body = page.dump()};
}

// The progress of this watch: often not to the last event.
std::string SimulatedApiServer::lines_after(Kind& kind, std::uint64_t version) {
  std::string lines;
  std::size_t left = are_drawn_ ? dice_.below(6) : kind.history.size();
  for (const Event& event : kind.history) {
    if (event.version <= version) {
      // An event that was already sent, but not to a client that begins here: some relays repeat events.
      if (!happens(2)) continue;
      ++tally_.repeated;
      lines += line_of(event.type.c_str(), event.object);
      continue;
    }
    if (left-- == 0) return lines;
    ++tally_.events;
    lines += line_of(event.type.c_str(), event.object);
    if (happens(4)) {
      ++tally_.repeated;
      lines += line_of(event.type.c_str(), event.object);
    }
    if (happens(1)) {
      ++tally_.nonsense;
      lines += dice_.pick({"{\"type\":\"MODIFIED\"}\n", "no json\n", "{\"type\":\"WHAT\",\"object\":{}}\n"});
    }
  }
  if (!happens(50)) {
    ++tally_.bookmarks;
    lines += line_of("BOOKMARK", {{"metadata", {{"resourceVersion", std::to_string(version_)}}}});
  }
  return lines;
}

Result<http::ResponseHead> SimulatedApiServer::watch(const std::string& url, http::BodySink& sink) {
  clock_.advance(std::chrono::milliseconds(are_drawn_ ? dice_.below(2000) : 1000));
  Kind& kind = kinds_[kind_in(url)];
  const std::uint64_t from = std::stoull(parameter(url, "resourceVersion"));
  // The messages of another server differ in length each time: the place of a cut then decides nothing else.
  Dice aside = dice_;
  Dice& cuts = lists_ ? aside : dice_;
  const auto say = [&](int status, std::string_view text) -> Result<http::ResponseHead> {
    const http::ResponseHead head{.status = status, .headers = {}};
    if (auto taken = sink.on_head(head); !taken) return taken.error();
    while (!text.empty()) {  // cut anywhere
      const std::size_t size =
          std::min<std::size_t>(text.size(), are_drawn_ ? 1 + cuts.below(2000) : text.size());
      if (auto taken = sink.on_bytes(text.substr(0, size)); !taken) return taken.error();
      text.remove_prefix(size);
    }
    return head;
  };
  if (happens(8)) {
    ++tally_.refusals;
    return say(429, status_of(429, "TooManyRequests").dump());
  }
  if (from < kind.forgotten) {
    ++tally_.expirations;
    const json expired = status_of(410, "Expired");
    return dice_.percent(50) ? say(410, expired.dump()) : say(200, line_of("ERROR", expired));
  }
  std::string lines = lines_after(kind, from);
  const bool is_cut = happens(15) && !lines.empty();
  if (is_cut) lines.resize(lists_ ? lines.size() * dice_.below(100) / 100 : dice_.below(lines.size()));
  auto said = say(200, lines);
  if (!said || !is_cut) return said;
  ++tally_.cuts;
  return Error(dice_.pick({ErrorKind::kUnavailable, ErrorKind::kTimeout}), "cut off");
}

}  // namespace ratoon::sim
