#include "cli/trainer_arguments.h"

#include <algorithm>
#include <string_view>

namespace ratoon::cli {

std::vector<std::string> take_trainer_arguments(int& argc, const char* const* argv) {
  const auto has_trainer = [](std::string_view command) { return command == "run" || command == "launch"; };
  if (argc < 2 || !has_trainer(argv[1])) return {};
  const char* const* const end = argv + argc;
  const char* const* const separator =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (separator == end) return {};
  argc = static_cast<int>(separator - argv);
  return {separator + 1, end};
}

}  // namespace ratoon::cli
