// OtherUser: from its construction to its destruction the process has the rights of another user than root. A
// process that is not root stays as it is.
#pragma once

#include <unistd.h>

namespace ratoon::test {

class OtherUser {
 public:
  OtherUser() : was_changed_(::geteuid() == 0 && ::seteuid(kNobody) == 0) {}
  ~OtherUser() {
    if (was_changed_) static_cast<void>(::seteuid(0));
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const bool was_changed_;
};

}  // namespace ratoon::test
