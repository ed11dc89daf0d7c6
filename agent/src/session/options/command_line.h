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
  // Returns the flag that sets `option`: the last flag with the prefix --ratoon- or, if there is none, the
  // last flag without the prefix.
  [[nodiscard]] const FoundFlag* find(std::string_view option) const;
};

// Finds Ratoon's flags in the words after argv[0], up to the word "--". If a flag needs a value, the next
// word is its value. Returns kInvalid for an unknown word that begins with --ratoon-, or that differs from a
// flag of Ratoon by one typing error.
[[nodiscard]] CommandLine read_command_line(std::span<const char* const> argv,
                                            const std::vector<OptionRow>& rows, const FlagRules& rules);

// Returns kInvalid if an entry of FlagRules::of_program begins with --ratoon- or is not a flag.
[[nodiscard]] Result<void> check_flag_rules(const FlagRules& rules);

// Removes Ratoon's flags and their values from argv. A null pointer ends argv, as in main().
void remove_flags(const CommandLine& line, int& argc, char** argv);

}  // namespace ratoon::session
