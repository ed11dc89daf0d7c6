// The completion script of a shell: one of bash, or of zsh by way of its bashcompinit, made from the commands
// and options as the program knows them.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace ratoon::cli {

enum class Shell { kBash, kZsh };

[[nodiscard]] std::string completion_script(const CLI::App& program, Shell shell);

}  // namespace ratoon::cli
