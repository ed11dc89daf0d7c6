// Makes the completion script of a shell from the program's commands and options. The script for zsh uses
// bashcompinit. For the first word after `ratoon kill` and `ratoon reclaim` a script offers the members and
// the nodes of a run. The script calls `ratoon completion members` and `ratoon completion nodes` for their
// names.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace ratoon::cli {

enum class Shell { kBash, kZsh, kFish };

[[nodiscard]] std::string completion_script(const CLI::App& program, Shell shell);

// Returns the words that can complete the last one of `words`, one per line. To get these words, kubectl runs
// the program kubectl_complete-ratoon. The last line is a number that tells kubectl whether the shell also
// completes names of files.
[[nodiscard]] std::string plugin_completions(const CLI::App& program, const std::vector<std::string>& words);

}  // namespace ratoon::cli
