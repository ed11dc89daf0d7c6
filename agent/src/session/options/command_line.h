// Finds the flags of Ratoon on a command line that has flags of the program, too.
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
  // The flag that counts for this option: the last one with the prefix, or else the last one without it.
  [[nodiscard]] const FoundFlag* find(std::string_view option) const;
};

// Reads words up to "--"; argv[0] is skipped. A word after a flag that takes a value is its value. kInvalid:
// one typing error separates a word from a flag of Ratoon, or a word begins with --ratoon- and is no flag.
[[nodiscard]] CommandLine read_command_line(std::span<const char* const> argv,
                                            const std::vector<OptionRow>& rows, const FlagRules& rules);

// kInvalid: a flag of the program begins with --ratoon-, or is no flag.
[[nodiscard]] Result<void> check_flag_rules(const FlagRules& rules);

// Removes the words of these flags from argv, which ends with a null pointer.
void remove_flags(const CommandLine& line, int& argc, char** argv);

}  // namespace ratoon::session
