// MemberLines: shows the output of a run's members, line by line and with the number of the process in front:
// "[2] step 100 loss 0.5". Members write into their log files and never wait for this output. The lines are
// read from the log files as fast as the output accepts them, so no line is lost if the output is slow.
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

  // Lines that were already in the files of this folder belong to earlier runs, and are not shown.
  MemberLines(std::filesystem::path logs, Output output);

  // Takes the members from status.json. The first call must come before a member prints its first line.
  void follow(const nlohmann::json& document);
  // Prints the lines that have come, as far as the output has room. A line that is not complete waits until
  // its member has ended.
  void relay();
  // Call this function after the run, when the members have ended. Whether there are lines left to relay().
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
  // Returns whether a line was printed.
  bool relay_some(const std::string& member, Log& log);

  const std::filesystem::path folder_;
  const Output output_;
  std::map<std::string, File> before_;  // by member
  std::map<std::string, Log> logs_;     // by member
};

// "[2] " for "digits-worker-2-i0".
[[nodiscard]] std::string prefix_of(std::string_view member);

// A line of a member's output; on a terminal without characters that would move the cursor.
[[nodiscard]] std::string shown_line(std::string_view line, bool is_terminal);

}  // namespace ratoon::cli
