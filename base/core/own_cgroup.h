// Finds the cgroup (version 1 or 2) to which this process belongs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ratoon {

struct OwnCgroup {
  std::filesystem::path mount;   // the outermost visible one
  std::filesystem::path folder;  // this process's own; `mount` if its own is not visible
  bool is_unified = false;       // version 2: one tree for all controllers
};

// Returns the cgroup whose controller "memory" or "cpu" limits this process, if any. `root` is the folder
// that contains /proc and /sys.
[[nodiscard]] std::optional<OwnCgroup> own_cgroup(std::string_view controller,
                                                  const std::filesystem::path& root = "/");

// Finds the line of a cgroup file that begins with `word`, and returns the number after `word`. If `word` is
// empty, returns the number at the beginning of the text. Returns nullopt if there is no number, as for
// "max".
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view text, std::string_view word);

}  // namespace ratoon
