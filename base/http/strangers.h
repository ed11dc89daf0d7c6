// The connections of a server that nobody has vouched for yet (Responder::vouch), oldest first and so many at
// most. For one more, one goes: of the address that has the most of them and crowds the others out, the
// oldest that owes us a request, and where all its requests are in work, the oldest. Where no address crowds,
// it is the newest: when a thousand clients call anew at once, those that are at it come through. But who has
// owed us a request for longer than an honest client needs goes before it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ratoon::http {

class ServerSession;

class Strangers {
 public:
  using Session = std::shared_ptr<ServerSession>;
  using Time = std::chrono::steady_clock::time_point;

  // At least one.
  explicit Strangers(std::size_t max) : max_(max) {}

  // Returns who is to be closed for it, maybe itself, or null.
  [[nodiscard]] Session add(const Session& session, const std::string& address, Time now);
  void set_in_work(const Session& session, bool is_in_work);
  void remove(const Session& session);

 private:
  struct Stranger {
    Session session;
    std::string address;
    Time came{};
    bool is_in_work = false;
  };

  [[nodiscard]] std::vector<Stranger>::iterator find_leaving(Time now);

  const std::size_t max_;
  std::vector<Stranger> strangers_;
};

}  // namespace ratoon::http
