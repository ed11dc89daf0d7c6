// The table of a session's options: what reads them, and what tells people of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ratoon/options.h>

namespace ratoon::session {

// A number, or "all".
struct CountOrAll {
  std::uint64_t* count;
};

// One row an option: where it is kept, its variable, its flag (nullptr: not for people), and what it is.
struct OptionRow {
  std::variant<std::string*, std::uint64_t*, std::uint32_t*, std::optional<std::uint32_t>*,
               std::optional<std::uint64_t>*, int*, bool*, std::vector<std::string>*, CountOrAll, Every*,
               std::optional<Until>*>
      target;
  const char* variable;
  const char* flag;
  const char* meaning = "";
};

[[nodiscard]] std::vector<OptionRow> option_rows(Options& options);

inline constexpr const char* kHelpFlag = "--ratoon-help";

// As a program with these defaults prints them, a line an option.
[[nodiscard]] std::string help_text(Options defaults);
// The rows of the table in docs/reference/options.md.
[[nodiscard]] std::string help_table(Options defaults);

}  // namespace ratoon::session
