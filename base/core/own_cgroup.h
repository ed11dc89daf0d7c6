// Where this process stands among the cgroups of its machine, of either version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ratoon {

struct OwnCgroup {
  std::filesystem::path mount;   // the outermost one that is to be seen
  std::filesystem::path folder;  // this process's own: the mount itself where its path is not to be seen
  bool is_unified = false;       // version 2: one tree for all controllers
};

// The one that holds this process's "memory" or "cpu", as far as `root`, where /proc and /sys are, has one.
[[nodiscard]] std::optional<OwnCgroup> own_cgroup(std::string_view controller,
                                                  const std::filesystem::path& root = "/");

// The number after a word that begins a line of a file of a cgroup; after no word, the number that begins the
// text. Nothing where there is none: "max".
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view text, std::string_view word);

}  // namespace ratoon
