#include <memory>
#include <string>

#include "base/contract/exit_code.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/completion.h"

namespace ratoon::cli {
namespace {

constexpr const char* kCompletionExamples = R"(Examples:
  ratoon completion bash                   the script; in ~/.bashrc: source <(ratoon completion bash)
  ratoon completion zsh                    in ~/.zshrc: source <(ratoon completion zsh)

Exit codes: 0 printed, 82 the command line is wrong, 84 standard output cannot be written.)";

}  // namespace

void add_completion_command(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print the script with which a shell completes the commands of ratoon");
  command->footer(kCompletionExamples);
  command->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([&app, shell, &exit_code] {
    print_text(completion_script(app, *shell == "zsh" ? Shell::kZsh : Shell::kBash));
    exit_code = static_cast<int>(ExitCode::kDone);
  });
}

}  // namespace ratoon::cli
