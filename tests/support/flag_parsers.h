// Small parsers of command lines in the styles of libraries that trainers use. Each knows --seed N, --lr X,
// the switch --verbose and a file, and refuses every other flag with the sentence of its library.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ratoon::test {

using ParsedFlags = std::map<std::string, std::string>;  // the file is under ""
using FlagParser = std::function<ParsedFlags(int argc, char** argv)>;

// Reads `--name value` and `--name=value`; `resolve` returns the flag that a name means, or throws.
template <class Resolve>
ParsedFlags parse_flags(int argc, char** argv, std::size_t dashes_min, Resolve resolve) {
  ParsedFlags parsed;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t dashes = word.find_first_not_of('-');
    if (dashes < dashes_min || dashes == 0 || dashes == std::string::npos) {
      parsed[""] = word;
      continue;
    }
    const std::size_t end = word.find('=');
    const std::string name = resolve(word.substr(dashes, end - dashes));
    if (name == "verbose")
      parsed[name] = "true";
    else if (end != std::string::npos)
      parsed[name] = word.substr(end + 1);
    else if (++i < argc)
      parsed[name] = argv[i];
    else
      throw std::runtime_error(name + " has no value");
  }
  return parsed;
}

inline const std::set<std::string>& flags_of_program() {
  static const std::set<std::string> flags = {"seed", "lr", "verbose"};
  return flags;
}

inline FlagParser parser_with_sentence(std::size_t dashes_min, const std::string& sentence) {
  return [=](int argc, char** argv) {
    return parse_flags(argc, argv, dashes_min, [&](const std::string& name) {
      if (!flags_of_program().contains(name)) throw std::runtime_error(sentence + name);
      return name;
    });
  };
}

// boost::program_options completes the beginning of a flag if it is unambiguous.
inline ParsedFlags parse_like_boost(int argc, char** argv) {
  return parse_flags(argc, argv, 2, [](const std::string& name) {
    std::string found;
    for (const std::string& flag : flags_of_program())
      if (!name.empty() && flag.starts_with(name)) found = flag;
    if (found.empty()) throw std::runtime_error("unrecognised option '--" + name + "'");
    return found;
  });
}

inline std::vector<std::pair<std::string, FlagParser>> flag_parsers() {
  return {
      {"CLI11", parser_with_sentence(2, "The following argument was not expected: --")},
      {"Boost", parse_like_boost},
      {"argparse", parser_with_sentence(1, "unrecognized arguments: --")},
      {"gflags", parser_with_sentence(1, "ERROR: unknown command line flag ")},
  };
}

}  // namespace ratoon::test
