#include "cli/unexpected_error.h"

#include <filesystem>
#include <memory>
#include <system_error>

namespace ratoon::cli {

UnexpectedError explain_unexpected_error(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return {.sentence =
                "there is not enough memory for this command: run it on a machine with more, or end other "
                "programs",
            .exit_code = ExitCode::kStorage};
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    const std::string path = file->path1().string();
    return {.sentence = "the file system reports an error" + (path.empty() ? "" : " for " + path) + ": " +
                        file->code().message() + "; correct the cause and run the same command again",
            .exit_code = ExitCode::kStorage};
  }
  if (dynamic_cast<const std::system_error*>(&error) != nullptr)
    return {.sentence = std::string("the system reports an error: ") + error.what() +
                        "; correct the cause and run the same command again",
            .exit_code = ExitCode::kStorage};
  return {.sentence = std::string("the command failed because of a fault in Ratoon: ") + error.what() +
                      "; please report it, with the command line"};
}

}  // namespace ratoon::cli
