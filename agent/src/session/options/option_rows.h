// session/options/: the options of a session: their table, the sources of their values, and the check whether
// they fit together.
//
// The table of a session's options, from which they are read and their help is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

// A number, or "all".
struct CountOrAll {
  std::uint64_t* count;
};

// One row per option: its target, its variable, its flag (nullptr: not for people), and its meaning.
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

// Sets the option of this flag, for a program in another language: "save_every" is --save-every. Returns
// kInvalid if there is no such flag, or if the text is no value of it.
[[nodiscard]] Result<void> assign_option(Options& options, const std::string& name, const std::string& text);

inline constexpr const char* kHelpFlag = "--ratoon-help";

// The help that a program with these defaults prints, one line per option.
[[nodiscard]] std::string help_text(Options defaults);
// The rows of the table in docs/reference/options.md.
[[nodiscard]] std::string help_table(Options defaults);

}  // namespace ratoon::session
