// Explains the fault of a command line in a sentence that names the next command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace ratoon::cli {

// "run takes no '--folde'; did you mean '--folder'? See `ratoon run --help`". `app` has just refused to
// parse.
[[nodiscard]] std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace ratoon::cli
