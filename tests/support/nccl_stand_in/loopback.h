// Sockets between ranks of one machine.
#pragma once

#include <cstdint>

#include "base/core/unique_fd.h"
#include "tests/support/nccl_stand_in/exchange.h"

namespace ratoon::test::nccl_stand_in {

struct Listener {
  UniqueFd socket;
  std::uint16_t port = 0;
};

// A closed socket as the result means that the system refused.
[[nodiscard]] Listener listen_on_loopback();
[[nodiscard]] UniqueFd accept_from(const Listener& listener);
// The socket is closed if the other end is gone or the signal is raised.
[[nodiscard]] UniqueFd connect_on_loopback(std::uint16_t port, const AbortSignal& signal);

}  // namespace ratoon::test::nccl_stand_in
