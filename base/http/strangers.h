// The connections of a server that nobody has vouched for yet (Responder::vouch), oldest first and so many at
// most. For one more the oldest goes that owes us a request, and where the requests of all are in work, the
// oldest. Who comes is let in always: it may be somebody whom the handler knows at once.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ratoon::http {

class ServerSession;

class Strangers {
 public:
  using Session = std::shared_ptr<ServerSession>;

  // At least one.
  explicit Strangers(std::size_t max) : max_(max) {}

  // Returns who is to be closed for it, or null.
  [[nodiscard]] Session add(const Session& session);
  void set_in_work(const Session& session, bool is_in_work);
  void remove(const Session& session);

 private:
  struct Stranger {
    Session session;
    bool is_in_work = false;
  };

  const std::size_t max_;
  std::vector<Stranger> strangers_;
};

}  // namespace ratoon::http
