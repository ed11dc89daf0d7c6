// The connections of a server that somebody has vouched for (Responder::vouch), by owner, and so many of each
// at most: for one more the oldest of that owner is closed. So one that opens them by the thousand takes
// nobody else's place.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

namespace ratoon::http {

class ServerSession;

class Owners {
 public:
  using Session = std::shared_ptr<ServerSession>;

  // Returns who is to be closed for it, or null. `max`: at least one.
  [[nodiscard]] Session add(const Session& session, const std::string& owner, std::size_t max);
  void remove(const Session& session);

 private:
  std::unordered_map<std::string, std::deque<Session>> sessions_of_;  // oldest first
  std::unordered_map<Session, std::string> owner_of_;
};

}  // namespace ratoon::http
