// An API server in memory, over HTTP: its watches report each stored change at once. It has the features on
// which operators rely: versions, preconditions, names that exist once.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/http/server.h"

namespace ratoon::test {

class ApiServerInMemory {
 public:
  using json = nlohmann::json;

  ApiServerInMemory();
  ~ApiServerInMemory();
  ApiServerInMemory(const ApiServerInMemory&) = delete;
  ApiServerInMemory& operator=(const ApiServerInMemory&) = delete;

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

  // By the plural of its kind. Its version is set here, and its UID where it has none.
  void put(const std::string& kind, json object);
  // False: there is no such object, and nothing is done.
  bool change(const std::string& kind, const std::string& key, const std::function<void(json&)>& change);
  void remove(const std::string& kind, const std::string& key);
  // Of all namespaces, or of one.
  [[nodiscard]] std::vector<json> objects(const std::string& kind, const std::string& name_space = {}) const;
  [[nodiscard]] std::optional<json> find(const std::string& kind, const std::string& key) const;
  // The number of created or repeated events.
  [[nodiscard]] std::uint64_t events() const;

  // What the server does with a request instead of serving it.
  struct Disturbance {
    std::optional<http::Response> answer{};  // absent: the request gets no answer
  };
  // Decides for each request from now on; nothing: the request is served. It is called with a lock held.
  using Disturb =
      std::function<std::optional<Disturbance>(const http::ServerRequest& request, const json& body)>;
  void disturb(Disturb disturb);
  // The number of requests without an answer whose clients have left.
  [[nodiscard]] std::size_t abandoned() const;

  // Waits until an object is newer than `version`, and returns the newest version. The same version: the wait
  // was told to stop.
  [[nodiscard]] std::uint64_t wait_for_news(std::uint64_t version, const std::stop_token& stop) const;

  [[nodiscard]] static std::string key_of(const json& object);

 private:
  struct Event {
    std::uint64_t version = 0;
    std::string line;
  };
  struct Kind {
    std::map<std::string, json> objects;
    std::vector<Event> history;
  };
  struct Watch {
    std::string kind;
    std::uint64_t version = 0;  // of the newest event that was written
    std::unique_ptr<http::StreamWriter> writer;
  };
  struct Place {
    std::string name_space;
    std::string kind;
    std::string name;
    std::string part;
  };

  static Place place_of(const std::string& path);
  void receive(const http::ServerRequest& request, http::Responder responder);
  // Each function is called with the lock held.
  [[nodiscard]] http::Response answer(const http::ServerRequest& request, const Place& place,
                                      const json& body);
  [[nodiscard]] http::Response create(const Place& place, json object);
  [[nodiscard]] http::Response write(const std::string& method, const Place& place, const json& body);
  const json& store(const std::string& kind, json object);
  void erase(const std::string& kind, const std::string& key);
  void note(const std::string& kind, const char* type, const json& object);
  // Writes to watches may block until a thread of the server is free, so no lock is held during a write.
  void tell_watches(const std::stop_token& stop);
  [[nodiscard]] std::string lines_for(Watch& watch) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::uint64_t version_ = 100;  // guarded by mutex_, as is what follows
  std::uint64_t events_ = 0;
  std::map<std::string, Kind> kinds_;
  Disturb disturb_;
  std::vector<http::Responder> unanswered_;
  std::vector<Watch> begun_;  // and not yet of the thread that tells them
  std::unique_ptr<http::HttpServer> server_;
  std::jthread teller_;  // last: it uses everything above
};

}  // namespace ratoon::test
