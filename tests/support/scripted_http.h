// An HTTP server on loopback that answers each request with the bytes of a script, also with replies that no
// correct server would send, and records the requests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/core/unique_fd.h"

namespace ratoon::test {

struct ScriptedRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct ScriptedReply {
  std::string bytes;
  enum { kGoOn, kCut, kHang } then = kGoOn;  // kHang: keeps the connection open and says nothing more
};

// A correct reply; if `claimed_bytes` is not -1, its Content-Length has this number instead of the true one.
[[nodiscard]] ScriptedReply reply(int status, const std::string& body, const std::string& headers = {},
                                  long claimed_bytes = -1);

class ScriptedHttp {
 public:
  // Called for each request with its number (from 1 on), one at a time.
  using Script = std::function<ScriptedReply(const ScriptedRequest& request, int number)>;

  explicit ScriptedHttp(Script script);
  ~ScriptedHttp();

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<ScriptedRequest> requests() const;

 private:
  void accept_all();
  void serve(UniqueFd connection);
  ScriptedReply answer(const ScriptedRequest& request);

  const Script script_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool is_stopping_ = false;               // guarded by mutex_
  std::vector<ScriptedRequest> requests_;  // guarded by mutex_
  std::vector<int> open_;                  // guarded by mutex_
  std::vector<std::thread> serving_;       // of accept_all()
  std::thread accepting_;
};

}  // namespace ratoon::test
