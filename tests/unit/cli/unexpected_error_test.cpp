#include "cli/unexpected_error.h"

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

namespace ratoon::cli::unexpected_error_test {
namespace {

TEST(ExplainUnexpectedError, TheMachinesRefusalsAreThoseOfStorage) {
  const auto memory = explain_unexpected_error(std::bad_alloc());
  EXPECT_EQ(memory.exit_code, ExitCode::kStorage);
  EXPECT_EQ(memory.sentence,
            "there is not enough memory for this command: run it on a machine with more, or end other "
            "programs");
  EXPECT_EQ(explain_unexpected_error(std::bad_array_new_length()).exit_code, ExitCode::kStorage);

  const auto no_entry = std::make_error_code(std::errc::no_such_file_or_directory);
  const auto file =
      explain_unexpected_error(std::filesystem::filesystem_error("cannot look", "/data/runs", no_entry));
  EXPECT_EQ(file.exit_code, ExitCode::kStorage);
  EXPECT_EQ(file.sentence,
            "the file system reports an error for /data/runs: No such file or directory; correct the cause "
            "and run the same command again");
  EXPECT_EQ(explain_unexpected_error(std::filesystem::filesystem_error("cannot get current path", no_entry))
                .sentence,
            "the file system reports an error: No such file or directory; correct the cause and run the same "
            "command again");

  const auto thread = explain_unexpected_error(
      std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "a thread"));
  EXPECT_EQ(thread.exit_code, ExitCode::kStorage);
  EXPECT_EQ(thread.sentence,
            "the system reports an error: a thread: Resource temporarily unavailable; correct the cause and "
            "run the same command again");
}

TEST(ExplainUnexpectedError, AFaultOfItsOwnIsNotTriedAgain) {
  const auto fault = explain_unexpected_error(std::logic_error("slot 3 is in another state"));
  EXPECT_EQ(fault.exit_code, ExitCode::kConfiguration);
  EXPECT_EQ(fault.sentence,
            "the command failed because of a fault in Ratoon: slot 3 is in another state; please report it, "
            "with the "
            "command line");
}

}  // namespace
}  // namespace ratoon::cli::unexpected_error_test
