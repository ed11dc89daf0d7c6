// Rendezvous: the address of rank 0, for programs with their own collectives.
//   const ratoon::Rendezvous meeting = session.rendezvous();
#pragma once
#include <cstdint>
#include <string>

namespace ratoon {

// The address at which the ranks connect to each other for collectives of the program's own library. All
// attempts (calls of the training function) share one listening socket, so a key-value store at rank 0 can
// outlive an attempt: put the attempt's number into each key.
struct Rendezvous {
  std::string host{};  // the host of rank 0
  std::uint16_t port = 0;
  int listening_fd = -1;   // on rank 0: bound to host:port and listening; the session owns it, use dup()
  std::string own_host{};  // the address under which other ranks reach this process
  std::string secret{};    // a secret of this attempt, known only to its ranks; never log it
};

}  // namespace ratoon
