#include "agent/src/session/options/command_line.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "agent/src/session/options/misspelled_flags.h"
#include "base/contract/names.h"

namespace ratoon::session {
namespace {

constexpr std::string_view kPrefix = names::kFlagPrefix;

std::string_view flag_without_value(std::string_view word) {
  return word.substr(0, word.find('='));
}

bool has_ratoon_prefix(std::string_view word) {
  const std::string prefix = plain_flag_name(kPrefix);
  return word.starts_with('-') && plain_flag_name(word).starts_with(prefix);
}

bool is_program_flag(std::string_view word, const FlagRules& rules) {
  const std::string name = plain_flag_name(word);
  return std::ranges::any_of(rules.of_program,
                             [&](const std::string& flag) { return plain_flag_name(flag) == name; });
}

// "--ratoon-seed" as "--seed"
std::string without_prefix(std::string_view flag) {
  return "--" + std::string(flag.substr(kPrefix.size()));
}

const OptionRow* find_option_row(std::string_view flag, const std::vector<OptionRow>& rows) {
  const auto found = std::ranges::find_if(
      rows, [&](const OptionRow& row) { return row.flag != nullptr && flag == row.flag; });
  return found == rows.end() ? nullptr : &*found;
}

const char* find_similar_flag(std::string_view word, const std::vector<OptionRow>& rows) {
  const auto found = std::ranges::find_if(rows, [&](const OptionRow& row) {
    return row.flag != nullptr && is_probable_misspelling(word, row.flag);
  });
  return found == rows.end() ? nullptr : found->flag;
}

Error invalid_error(const std::string& sentence) {
  return {ErrorKind::kInvalid, sentence};
}

Error misspelled_flag_error(std::string_view word, const std::string& flag) {
  const std::string written(flag_without_value(word));
  return invalid_error(
      written + " is unknown and almost equals " + flag + ": write " + flag + ", or, if " + written +
      " is a flag of the program, put it after a word '--', or name it in FlagRules::of_program");
}

Error unknown_prefixed_flag_error(std::string_view word, const std::vector<OptionRow>& rows) {
  // In words such as "--ratoon_sed" and "-ratoon-sed", the prefix "--ratoon-" itself is misspelt.
  const std::string bare = "--" + plain_flag_name(word).substr(plain_flag_name(kPrefix).size());
  const OptionRow* const row = find_option_row(bare, rows);
  const char* const near = row != nullptr ? row->flag : find_similar_flag(bare, rows);
  return invalid_error(std::string(flag_without_value(word)) + " is unknown, and flags that begin with " +
                       std::string(kPrefix) + " are Ratoon's: " +
                       (near != nullptr ? "write " + std::string(kPrefix) + (near + 2)
                                        : std::string(kHelpFlag) + " lists them"));
}

bool takes_next_word(const OptionRow& row, std::span<const char* const> argv, std::size_t at) {
  const bool is_switch = std::holds_alternative<bool*>(row.target);
  return !is_switch || (at + 1 < argv.size() && argv[at + 1][0] != '-');
}

}  // namespace

bool CommandLine::asks_for_help() const {
  return std::ranges::any_of(flags, [](const FoundFlag& flag) { return flag.option == kHelpFlag; });
}

const FoundFlag* CommandLine::find(std::string_view option) const {
  const FoundFlag* found = nullptr;
  for (const FoundFlag& flag : flags) {
    const bool is_overridden = found != nullptr && found->has_prefix && !flag.has_prefix;
    if (flag.option == option && !is_overridden) found = &flag;
  }
  return found;
}

CommandLine read_command_line(std::span<const char* const> argv, const std::vector<OptionRow>& rows,
                              const FlagRules& rules) {
  CommandLine line;
  const auto refuse = [&](Error why) {
    if (!line.refusal) line.refusal = std::move(why);
  };
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    const std::string_view flag = flag_without_value(word);
    if (word == kHelpFlag) {
      line.flags.push_back({.option = kHelpFlag, .flag = kHelpFlag, .first_word = i});
      continue;
    }
    const bool has_prefix = flag.starts_with(kPrefix);
    const bool is_programs = !has_prefix && (rules.needs_prefix || is_program_flag(word, rules));
    const OptionRow* const row =
        is_programs ? nullptr : find_option_row(has_prefix ? without_prefix(flag) : std::string(flag), rows);
    if (row == nullptr) {
      if (has_ratoon_prefix(word))
        refuse(unknown_prefixed_flag_error(word, rows));
      else if (const char* const near = is_programs ? nullptr : find_similar_flag(word, rows))
        refuse(misspelled_flag_error(word, near));
      continue;
    }
    FoundFlag found{
        .option = row->flag, .flag = std::string(flag), .has_prefix = has_prefix, .first_word = i};
    if (flag.size() < word.size()) {
      found.value = word.substr(flag.size() + 1);
    } else if (!takes_next_word(*row, argv, i)) {
      found.value = "true";
    } else if (i + 1 < argv.size()) {
      found.value = argv[++i];
      found.words = 2;
    } else {
      refuse(invalid_error(std::string(flag) + " needs a value after it"));
    }
    line.flags.push_back(std::move(found));
  }
  return line;
}

Result<void> check_flag_rules(const FlagRules& rules) {
  for (const std::string& flag : rules.of_program) {
    const bool is_flag =
        flag.starts_with('-') && !plain_flag_name(flag).empty() && flag_without_value(flag) == flag;
    if (is_flag && !has_ratoon_prefix(flag)) continue;
    return invalid_error("FlagRules::of_program has '" + flag +
                         "': expected a flag such as --seed, without a '=' and without the prefix " +
                         std::string(kPrefix));
  }
  return {};
}

void remove_flags(const CommandLine& line, int& argc, char** argv) {
  for (auto flag = line.flags.rbegin(); flag != line.flags.rend(); ++flag) {
    char** const first = argv + flag->first_word;
    std::copy(first + flag->words, argv + argc + 1, first);  // with the null pointer
    argc -= static_cast<int>(flag->words);
  }
}

}  // namespace ratoon::session
