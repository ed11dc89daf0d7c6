#include "cli/run/member_lines.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/unique_fd.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytesMax = 64 * 1024;
// A longer line is printed in parts, to limit the memory for one line.
constexpr std::size_t kLineBytesMax = 16 * 1024;
// Limits how often one call of relay() reads each log file, because members may print endlessly, and `ratoon
// run` has other work to do.
constexpr int kReadsPerRelayMax = 4;
constexpr std::string_view kLogSuffix = ".log";

std::string read_part(const fs::path& file, std::uint64_t offset) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return "";
  std::string part(kReadBytesMax, '\0');
  ssize_t got = 0;
  do got = ::pread(fd.get(), part.data(), part.size(), static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  part.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return part;
}

// Returns the length of the colour escape sequence at the beginning of the text, or 0 if there is none.
std::size_t colour_sequence_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

// Keeps colours and tabs, and replaces other control characters, which could move the cursor, by '?'. Drops
// the text before a carriage return, which a terminal would overwrite.
std::string sanitize_for_terminal(std::string_view line) {
  if (const std::size_t last = line.rfind('\r'); last != line.npos) line.remove_prefix(last + 1);
  std::string text;
  bool has_colour = false;
  while (!line.empty()) {
    const std::size_t colour = colour_sequence_length(line);
    const std::size_t kept = colour != 0 ? colour : (line.front() == '\t' ? 1 : 0);
    const std::size_t plain = std::min(line.find_first_of("\t\x1b", 1), line.size());
    text += kept != 0 ? std::string(line.substr(0, kept)) : line_of(line.substr(0, plain), 0);
    has_colour = has_colour || colour != 0;
    line.remove_prefix(kept != 0 ? kept : plain);
  }
  return has_colour ? text + "\x1b[0m" : text;
}

}  // namespace

std::string line_prefix_of(std::string_view member) {
  const std::string_view place = member.substr(0, member.rfind("-i"));
  return "[" + std::string(place.substr(place.rfind('-') + 1)) + "] ";
}

MemberLines::MemberLines(fs::path logs, Output output)
    : folder_(std::move(logs)), output_(std::move(output)) {
  std::error_code code;
  for (fs::directory_iterator at(folder_, code), end; !code && at != end; at.increment(code)) {
    const std::string member = at->path().stem().string();
    initial_files_[member] = find(member);
  }
}

MemberLines::File MemberLines::find(const std::string& member) const {
  struct stat facts{};
  const fs::path path = folder_ / (member + std::string(kLogSuffix));
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {.device = facts.st_dev, .number = facts.st_ino, .size = static_cast<std::uint64_t>(facts.st_size)};
}

void MemberLines::follow(const nlohmann::json& document) {
  for (auto& [name, log] : logs_) log.has_ended = true;  // unless it is among the members
  for (const auto& member : document.at("members")) {
    const std::string name = member.at("name").get<std::string>();
    auto [found, is_new] = logs_.try_emplace(name, Log{.prefix = line_prefix_of(name)});
    found->second.has_ended = member.at("pids").empty();
    const auto before = initial_files_.find(name);
    if (!is_new || before == initial_files_.end()) continue;
    const File now = find(name);
    if (now.device == before->second.device && now.number == before->second.number)
      found->second.offset = before->second.size;
  }
}

void MemberLines::relay() {
  bool goes_on = true;
  for (int round = 0; goes_on && round < kReadsPerRelayMax; ++round) {
    goes_on = false;
    for (auto& [name, log] : logs_) {
      goes_on = relay_log_part(name, log) || goes_on;
      output_.write();
    }
  }
  for (auto& [name, log] : logs_)
    log.is_shown = log.is_shown || (log.has_ended && find(name).size <= log.offset);
}

bool MemberLines::has_more() {
  for (auto& [name, log] : logs_) log.has_ended = true;
  return std::ranges::any_of(logs_, [this](const auto& entry) {
    return !entry.second.is_shown && find(entry.first).size > entry.second.offset;
  });
}

bool MemberLines::relay_log_part(const std::string& member, Log& log) {
  if (log.is_shown) return false;
  const std::uint64_t size = find(member).size;
  if (size <= log.offset || (size == log.seen && !log.has_ended)) return false;
  const std::string part = read_part(folder_ / (member + std::string(kLogSuffix)), log.offset);
  if (part.empty() && log.has_ended) log.offset = size;  // it cannot be read
  std::size_t done = 0;
  bool awaits_rest_of_line = part.empty();
  while (done < part.size() && output_.has_room()) {
    const std::string_view rest = std::string_view(part).substr(done);
    const std::size_t end = rest.find('\n');
    const bool is_whole = end <= kLineBytesMax;  // npos is larger
    const bool is_last = log.has_ended && rest.size() <= kLineBytesMax && part.size() < kReadBytesMax;
    awaits_rest_of_line = !is_whole && !is_last && rest.size() <= kLineBytesMax;
    if (awaits_rest_of_line) break;
    const std::size_t length = is_whole ? end : std::min(rest.size(), kLineBytesMax);
    output_.add(log.prefix + printable_line(rest.substr(0, length), output_.is_terminal));
    done += length + (is_whole ? 1 : 0);
  }
  log.offset += done;
  log.seen = awaits_rest_of_line && done == 0 ? size : 0;
  return done != 0;
}

std::string printable_line(std::string_view line, bool is_terminal) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return is_terminal ? sanitize_for_terminal(line) : std::string(line);
}

}  // namespace ratoon::cli
