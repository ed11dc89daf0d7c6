#include "base/process/free_port.h"

#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/core/unique_fd.h"

namespace ratoon {

Result<std::uint16_t> find_free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open() || ::bind(fd.get(), plain, size) != 0 || ::getsockname(fd.get(), plain, &size) != 0)
    return system_error(errno, "looking for a free port of 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace ratoon
