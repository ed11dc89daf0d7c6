#include "base/core/read_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace ratoon {

UniqueFd open_for_reading(const std::filesystem::path& path) {
  int fd = -1;
  do fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (fd < 0 && errno == EINTR);
  return UniqueFd(fd);
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
  const UniqueFd fd = open_for_reading(path);
  if (!fd.is_open()) return system_error(errno, "opening " + path.string());
  std::string text;
  for (std::size_t size = 0; size <= bytes_max;) {
    text.resize(std::min(size + kBlockBytes, bytes_max + 1));
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EAGAIN) {
      pollfd bytes{.fd = fd.get(), .events = POLLIN, .revents = 0};
      static_cast<void>(::poll(&bytes, 1, -1));
    } else if (count < 0 && errno != EINTR) {
      return system_error(errno, "reading " + path.string());
    }
    if (count < 0) continue;
    size += static_cast<std::size_t>(count);
    text.resize(size);
    if (count == 0) return text;
  }
  return Error(ErrorKind::kInvalid, path.string() + " has over " + std::to_string(bytes_max) +
                                        " bytes, far more than expected; check the path");
}

Result<std::string> read_file_or_none(const std::filesystem::path& path, std::size_t bytes_max) {
  auto text = read_file(path, bytes_max);
  const bool is_none = !text && (text.error().kind() == ErrorKind::kNotFound ||
                                 text.error().kind() == ErrorKind::kPermissionDenied);
  return is_none ? Result<std::string>(std::string()) : text;
}

}  // namespace ratoon
