// Rendezvous: where the ranks of an attempt meet, for programs with their own collectives.
//   const ratoon::Rendezvous meeting = session.rendezvous();
#pragma once
#include <cstdint>
#include <string>

namespace ratoon {

// The address at which the ranks of an attempt connect to each other, for programs with their own
// collectives. The same listening socket serves every attempt of a process, so keys that are stored at rank 0
// must contain the attempt's number.
struct Rendezvous {
  std::string host{};  // the host of rank 0
  std::uint16_t port = 0;
  int listening_fd = -1;   // on rank 0: bound to host:port and listening; the session owns it, use dup()
  std::string own_host{};  // the address under which other ranks reach this process
  std::string secret{};    // a secret of this attempt, known only to its ranks; never log it
};

}  // namespace ratoon
