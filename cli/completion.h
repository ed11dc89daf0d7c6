// Makes the completion script of a shell from the program's commands and options. The script for zsh uses
// bashcompinit.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace ratoon::cli {

enum class Shell { kBash, kZsh };

[[nodiscard]] std::string completion_script(const CLI::App& program, Shell shell);

}  // namespace ratoon::cli
