// session/options/: the options of a session: their table, the sources of their values, and the checks of
// their values.
//
// Declares the table of a session's options. The parser of options and the help text use this table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// CountOrAll points to the field of Options that an option sets to a number or to "all".
struct CountOrAll {
  std::uint64_t* count;
};

// An OptionRow has an option's target in Options, its environment variable, its flag and its meaning. If the
// option has no flag, the flag is nullptr.
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

// Sets an option by its name, for programs in other languages; for example, "save_every" is --save-every.
// Returns kInvalid if no option has that name, or `text` is no valid value for it.
[[nodiscard]] Result<void> assign_option(Options& options, const std::string& name, const std::string& text);

inline constexpr const char* kHelpFlag = "--ratoon-help";

// Returns the help of a program whose options have the default values `defaults`, one line per option.
[[nodiscard]] std::string help_text(Options defaults);
// Returns the rows of the table in docs/reference/options.md.
[[nodiscard]] std::string help_table(Options defaults);

}  // namespace ratoon::session
