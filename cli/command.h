// A subcommand of `ratoon`: it adds itself to the command line and leaves its exit code in `exit_code`.
#pragma once

#include <CLI/CLI.hpp>

namespace ratoon::cli {

void add_run_command(CLI::App& app, int& exit_code);

// Prints "ratoon: <sentence>" to stderr.
void complain(const std::string& sentence);

}  // namespace ratoon::cli
