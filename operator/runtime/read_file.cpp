#include "operator/runtime/read_file.h"

#include <cerrno>
#include <fstream>

namespace ratoon::runtime {

Result<std::string> read_file(const std::string& path) {
  constexpr std::size_t kBytesMax = 1024 * 1024;
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return system_error(errno != 0 ? errno : ENOENT, "reading " + path);
  std::string content(kBytesMax + 1, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (in.bad()) return system_error(errno != 0 ? errno : EIO, "reading " + path);
  content.resize(static_cast<std::size_t>(in.gcount()));
  if (content.size() > kBytesMax)
    return Error(ErrorKind::kInvalid, path + " is larger than a MiB: it is not what it should be");
  return content;
}

}  // namespace ratoon::runtime
