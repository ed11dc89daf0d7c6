// Finds the flags of Ratoon on a command line that may also have flags of the program.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/session/options/option_rows.h"

namespace ratoon::session {

struct FoundFlag {
  std::string_view option{};  // the flag of the option's row, "--seed", or --ratoon-help
  std::string flag{};         // as it is written, without a value
  std::string value{};        // "true" for a switch without a value
  bool has_prefix = false;
  std::size_t first_word = 0;  // in argv
  std::size_t words = 1;
};

struct CommandLine {
  std::vector<FoundFlag> flags{};  // in order
  std::optional<Error> refusal{};  // the first word that is refused; flags after it are found nevertheless

  [[nodiscard]] bool asks_for_help() const;
  // Returns the flag that sets `option`: the last with the prefix --ratoon-; if none, the last without it.
  [[nodiscard]] const FoundFlag* find(std::string_view option) const;
};

// Reads words up to "--", without argv[0]. The word after a flag that needs a value is the value. Returns
// kInvalid if a word is one typing error away from a flag of Ratoon, or is no flag but begins with --ratoon-.
[[nodiscard]] CommandLine read_command_line(std::span<const char* const> argv,
                                            const std::vector<OptionRow>& rows, const FlagRules& rules);

// Returns kInvalid if an entry of the rules begins with --ratoon-, or is no flag.
[[nodiscard]] Result<void> check_flag_rules(const FlagRules& rules);

// Removes Ratoon's flags and their values from argv, which ends with a null pointer.
void remove_flags(const CommandLine& line, int& argc, char** argv);

}  // namespace ratoon::session
