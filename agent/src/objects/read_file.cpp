#include "agent/src/objects/read_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon::objects {

Result<std::string> read_file(const std::filesystem::path& path) {
  constexpr std::size_t kBytesMax = 1024 * 1024;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return system_error(errno, "opening " + path.string());
  std::string text(kBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "reading " + path.string());
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kBytesMax)
    return Error(ErrorKind::kInvalid, path.string() + " is over a megabyte, far more than such a file has");
  text.resize(size);
  return text;
}

}  // namespace ratoon::objects
