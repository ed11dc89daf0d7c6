// Explains the error in a command line, and names the command to run next.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace ratoon::cli {

// For example: "run takes no '--folde'; did you mean '--folder'? See `ratoon run --help`". Call explain()
// after `app` has refused to parse.
[[nodiscard]] std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace ratoon::cli
