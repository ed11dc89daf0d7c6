#include "cli/completion.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/core/split_join.h"

namespace ratoon::cli {
namespace {

struct CommandCompletions {
  std::string path;  // " checkpoint list"; empty: the program itself
  std::vector<std::string> subcommands;
  std::vector<std::string> options;
  std::vector<std::string> options_with_value;
};

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// Returns the subcommands that --help lists, in its order.
std::vector<const CLI::App*> shown_subcommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

void collect_levels(const CLI::App& command, const std::string& path,
                    std::vector<CommandCompletions>& levels) {
  CommandCompletions level{.path = path};
  for (const CLI::Option* option : command.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const auto& name : names_of(*option)) {
      level.options.push_back(name);
      if (takes_value) level.options_with_value.push_back(name);
    }
  }
  const auto below = shown_subcommands(command);
  for (const CLI::App* one : below) level.subcommands.push_back(one->get_name());
  levels.push_back(std::move(level));
  for (const CLI::App* one : below) collect_levels(*one, path + " " + one->get_name(), levels);
}

std::string shell_case_of(const CommandCompletions& level) {
  return "    '" + level.path + "') words='" + join(level.subcommands, " ") + "' options='" +
         join(level.options, " ") + "' valued='" + join(level.options_with_value, " ") + "' ;;\n";
}

// Returns the paths of all commands below the program: 'run', 'checkpoint list' and so on, quoted.
std::string paths_of(const std::vector<CommandCompletions>& levels, const char* separator) {
  std::vector<std::string> paths;
  for (const auto& level : levels)
    if (!level.path.empty()) paths.push_back("'" + level.path + "'");
  return join(paths, separator);
}

// The first argument of the command `path` is one name from the `list` of a run's members or nodes.
struct NameArgument {
  const char* path;
  const char* list;
};
constexpr NameArgument kNamedParts[] = {{" kill", "members"}, {" reclaim", "nodes"}};

// The script offers no words for the value of an option, for the trainer's arguments after --, and for
// commands that take a file. In these three cases the shell itself completes file names.
std::string shell_function_of(const std::vector<CommandCompletions>& levels) {
  std::string cases;
  for (const auto& level : levels) cases += shell_case_of(level);
  std::string names;
  for (const auto& [path, list] : kNamedParts)
    names += std::string("    '") + path + "') words=$(\"${COMP_WORDS[0]}\" completion " + list +
             " ${run:+--run \"$run\"} 2>/dev/null) ;;\n";
  return R"(_ratoon() {
  local word=${COMP_WORDS[COMP_CWORD]} command= words= options= valued= run= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
      *' --') return ;;
      )" +
         paths_of(levels, " | ") +
         R"() command+=" ${COMP_WORDS[i]}" ;;
      *' --run') run=${COMP_WORDS[i+1]} ;;
    esac
  done
  case "$command" in
)" + cases +
         R"(  esac
  case " $valued " in *" ${COMP_WORDS[COMP_CWORD-1]} "*) return ;; esac
  case "$word" in
    -*) words=$options ;;
    *) case "$command" in
)" + names +
         R"(    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
)";
}

// The script for fish has one line for each command and option, with the condition that the words before the
// cursor name the command.
std::string script_for_fish(const std::vector<CommandCompletions>& levels) {
  std::string script = R"fish(function __ratoon_command
  set -l command ''
  for word in (commandline -opc)[2..-1]
    switch "$command $word"
      case '* --'
        echo ' --'
        return
      case )fish" + paths_of(levels, " ") +
                       R"fish(
        set command "$command $word"
    end
  end
  echo $command
end
function __ratoon_is_at
  test "$(__ratoon_command)" = "$argv[1]"
end
function __ratoon_names
  set -l words (commandline -opc)
  set -l at (contains -i -- --run $words)
  and set -l run --run $words[(math $at + 1)]
  $words[1] completion $argv[1] $run 2>/dev/null
end
)fish";
  for (const auto& level : levels) {
    const std::string begin = "complete -c ratoon -n \"__ratoon_is_at '" + level.path + "'\"";
    if (!level.subcommands.empty()) script += begin + " -f -a '" + join(level.subcommands, " ") + "'\n";
    for (const auto& name : level.options) {
      const bool takes_value =
          std::ranges::find(level.options_with_value, name) != level.options_with_value.end();
      script += begin + (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1)) +
                (takes_value ? " -r" : "") + "\n";
    }
  }
  for (const auto& [path, list] : kNamedParts)
    script += std::string("complete -c ratoon -n \"__ratoon_is_at '") + path + "'\" -f -a '(__ratoon_names " +
              list + ")'\n";
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& program, Shell shell) {
  std::vector<CommandCompletions> levels;
  collect_levels(program, "", levels);
  if (shell == Shell::kFish) return script_for_fish(levels);
  const std::string begin = shell == Shell::kBash ? ""
                                                  : "autoload -U +X compinit && compinit\n"
                                                    "autoload -U +X bashcompinit && bashcompinit\n";
  return begin + shell_function_of(levels) + "complete -o default -F _ratoon ratoon\n";
}

std::string plugin_completions(const CLI::App& program, const std::vector<std::string>& words) {
  constexpr const char* kFileNames = ":0\n";
  constexpr const char* kNoFileNames = ":4\n";
  std::vector<CommandCompletions> levels;
  collect_levels(program, "", levels);
  const auto level_of = [&](const std::string& path) {
    return std::ranges::find(levels, path, &CommandCompletions::path);
  };
  std::string path;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (level_of(path + " " + words[i]) != levels.end()) path += " " + words[i];
  const CommandCompletions& level = *level_of(path);
  const std::string typed = words.empty() ? "" : words.back();
  const std::string before = words.size() < 2 ? "" : words[words.size() - 2];
  if (std::ranges::find(level.options_with_value, before) != level.options_with_value.end())
    return kFileNames;
  std::string lines;
  for (const auto& word : typed.starts_with('-') ? level.options : level.subcommands)
    if (word.starts_with(typed)) lines += word + "\n";
  return lines + kNoFileNames;
}

}  // namespace ratoon::cli
