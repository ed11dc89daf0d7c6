// OtherUser: from its construction to its destruction this thread opens and changes files with the rights of
// another user than root, because root may read and write everywhere. Without root nothing changes.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

namespace ratoon::test {

class OtherUser {
 public:
  OtherUser() { ::setfsuid(kUser); }
  ~OtherUser() { ::setfsuid(::geteuid()); }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

  static constexpr uid_t kUser = 65534;
};

}  // namespace ratoon::test
