// An API server in memory, behind the transport that the operator's client calls: objects, their versions and
// the history that watches read. The server misbehaves at random: pages expire, calls are refused or cut off,
// watches end early, within a line, or with an error; it forgets its history, sends bookmarks, repeats events
// and sends lines that are no event.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "base/http/transport.h"
#include "tests/property/operator/dice.h"

namespace ratoon::sim {

class SimulatedApiServer {
 public:
  using json = nlohmann::json;

  SimulatedApiServer(std::uint64_t seed, ManualClock& clock) : dice_(seed), clock_(clock) {}

  // The objects by the plural of their kind; the version is set here. What was stored.
  json put(const std::string& kind, json object);
  // The former object, with the version of its end; nothing if there was none.
  json remove(const std::string& kind, const std::string& key);
  // An event of another server's watch, with its version on that server: this server passes it on.
  void pass_on(const std::string& kind, const std::string& type, const json& object);
  // Lists come from another server.
  using Lists = std::function<http::Response(const std::string& url)>;
  void set_lists(Lists lists) { lists_ = std::move(lists); }
  [[nodiscard]] const std::map<std::string, json>& objects(const std::string& kind) {
    return kinds_[kind].objects;
  }
  // Forgets the history, except the given number of newest events of each kind: a client that is further
  // behind has to list.
  void forget_history(std::size_t kept = 0);
  void set_faults(bool are_drawn) { are_drawn_ = are_drawn; }
  // The function is called before each page of a list, to let other writers act.
  void set_meanwhile(std::function<void()> happens) { meanwhile_ = std::move(happens); }

  [[nodiscard]] static std::string key_of(const json& object);
  // The numbers of lists, watches and faults so far, so that a law about them is tested at all.
  struct Tally {
    std::uint64_t events = 0;
    std::uint64_t lists = 0;
    std::uint64_t refusals = 0;
    std::uint64_t expirations = 0;
    std::uint64_t cuts = 0;
    std::uint64_t repeated = 0;
    std::uint64_t bookmarks = 0;
    std::uint64_t nonsense = 0;
  };
  [[nodiscard]] const Tally& tally() const { return tally_; }

  [[nodiscard]] Result<http::Response> answer(const std::string& url);
  [[nodiscard]] Result<http::ResponseHead> watch(const std::string& url, http::BodySink& sink);

 private:
  struct Event {
    std::uint64_t version = 0;
    std::string type;
    json object;
  };
  struct Kind {
    std::map<std::string, json> objects;
    std::vector<Event> history;
    std::uint64_t forgotten = 0;  // up to this version
  };
  // A list that is read in pages shows one moment.
  struct Snapshot {
    std::vector<json> items;
    std::uint64_t version = 0;
  };

  void note(Kind& kind, const std::string& type, json object);
  [[nodiscard]] http::Response page_of(const std::string& url);
  bool happens(std::uint64_t percent) { return are_drawn_ && dice_.percent(percent); }
  std::string lines_after(Kind& kind, std::uint64_t version);

  Dice dice_;
  ManualClock& clock_;
  bool are_drawn_ = true;
  std::function<void()> meanwhile_;
  Lists lists_;
  std::uint64_t version_ = 100;
  std::map<std::string, Kind> kinds_;
  std::map<std::string, Snapshot> snapshots_;  // by the token of their next page
  std::uint64_t tokens_ = 0;
  Tally tally_;
};

// The copy of the operator's client.
class TransportTo final : public http::HttpTransport {
 public:
  explicit TransportTo(SimulatedApiServer& server) : server_(server) {}
  Result<http::Response> call(const http::Request& request, const http::Limits&, std::stop_token) override {
    return server_.answer(request.url);
  }
  Result<http::ResponseHead> stream(const http::Request& request, const http::Limits&, http::BodySink& sink,
                                    std::stop_token) override {
    return server_.watch(request.url, sink);
  }

 private:
  SimulatedApiServer& server_;
};

}  // namespace ratoon::sim
