#include "launcher/notice_file.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/unique_fd.h"
#include "base/core/utf8.h"

namespace ratoon::launcher {

std::string notice_text(WallTime deadline, const std::string& reason) {
  constexpr std::size_t kReasonBytesMax = 1024;
  const nlohmann::json notice = {{"deadline_unix_seconds", ratoon::seconds(deadline.since_epoch)},
                                 {"reason", cut_text(reason, kReasonBytesMax)}};
  return notice.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<void> write_notice(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const auto failed = [&](const char* what) { return system_error(errno, std::string(what) + " " + fresh); };
  {
    const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.is_open()) return failed("creating");
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return failed("writing");
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("renaming");
  return {};
}

void remove_notice(const std::string& path) {
  ::unlink(path.c_str());
}

}  // namespace ratoon::launcher
