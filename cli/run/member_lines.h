// MemberLines: prints the output of a run's members, line by line with the number of the process in front:
// "[2] step 100 loss 0.5". Members write to log files and never wait for the terminal. MemberLines reads the
// log files only as fast as the terminal or pipe accepts lines, so that no line is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

namespace ratoon::cli {

class MemberLines {
 public:
  struct Output {
    std::function<void(const std::string& line)> add;
    std::function<bool()> has_room;  // whether another line should be added now
    std::function<void()> write;     // what the output takes of the lines that were added
    bool is_terminal = false;
  };

  // Skips lines that are already in the log files of this folder, because they belong to earlier runs.
  MemberLines(std::filesystem::path logs, Output output);

  // Reads the list of members from status.json. Call follow() for the first time before a member prints a
  // line.
  void follow(const nlohmann::json& document);
  // Prints new lines as far as the output has room. Prints an incomplete last line only after the member that
  // writes it has ended.
  void relay();
  // Call has_more() when all members have ended. Returns whether relay() has lines left to print.
  [[nodiscard]] bool has_more();

 private:
  struct File {
    dev_t device = 0;
    ino_t number = 0;
    std::uint64_t size = 0;
  };
  struct Log {
    std::string prefix;
    std::uint64_t offset = 0;  // the begin of the next line
    std::uint64_t seen = 0;    // the size of the file when its last line was found to be incomplete
    bool has_ended = false;    // its member has
    bool is_shown = false;     // to its end
  };

  [[nodiscard]] File find(const std::string& member) const;
  // Prints some lines of one log file. Returns whether the log file had a line to print.
  bool relay_log_part(const std::string& member, Log& log);

  const std::filesystem::path folder_;
  const Output output_;
  std::map<std::string, File> initial_files_;  // by member
  std::map<std::string, Log> logs_;            // by member
};

// Returns the prefix of a member's lines: "[2] " for "digits-worker-2-i0".
[[nodiscard]] std::string line_prefix_of(std::string_view member);

// Returns a line of a member's output, on a terminal without characters that would move the cursor.
[[nodiscard]] std::string printable_line(std::string_view line, bool is_terminal);

}  // namespace ratoon::cli
