#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ratoon/failure.h>
#include <ratoon/session/file_state.h>

#include "tests/support/saved_objects.h"

namespace ratoon::session::file_state_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A library that has its own file format.
struct ForeignTrainer {
  std::string state;
  std::string folder;

  [[nodiscard]] FileState tracked() {
    return FileState({.save = [this](const std::string& path) { test::write_text(path, state); },
                      .load = [this](const std::string& path) { state = test::read_text(path); },
                      .temporary_folder = folder});
  }
};

TEST(FileStates, TheFileIsGivenBackAndTemporaryFoldersAreRemoved) {
  const test::TemporaryFolder folder;
  for (const std::size_t bytes : {0u, 5u, 3'000'000u}) {
    ForeignTrainer trainer{.state = std::string(bytes, 'x'), .folder = folder.path().string()};
    if (bytes > 100) trainer.state[100] = '\0';
    const std::string before = trainer.state;
    auto state = trainer.tracked();
    test::SavedObjects saved;
    const auto point = saved.save("trainer", state);
    trainer.state = "trained further";
    saved.load(point, "trainer", state);
    EXPECT_EQ(trainer.state, before);
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
}

template <class Act>
std::string message_of(const Act& act) {
  try {
    act();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(FileStates, AFunctionThatWritesNoFileIsRefusedAtTheSave) {
  FileState state({.save = [](const std::string&) {}, .load = [](const std::string&) {}});
  test::SavedObjects saved;
  EXPECT_THAT(message_of([&] { saved.save("trainer", state); }),
              HasSubstr("tracked 'trainer': the function save wrote no file"));
}

TEST(FileStates, AFolderThatDoesNotExistAndAMissingFunctionAreRefused) {
  ForeignTrainer trainer{.state = "s", .folder = "/does/not/exist"};
  auto state = trainer.tracked();
  test::SavedObjects saved;
  EXPECT_THAT(message_of([&] { saved.save("trainer", state); }), HasSubstr("temporary_folder"));
  FileState without({.save = [](const std::string&) {}});
  EXPECT_THAT(message_of([&] { TrackAdapter<FileState>::check(without, "trainer"); }),
              HasSubstr("tracked 'trainer' is a FileState without the function load"));
}

// The library wrote its file, and Ratoon cannot read it at present.
TEST(FileStates, AFileThatCannotBeReadNowIsNoErrorOfTheProgram) {
  FileState state({.save =
                       [](const std::string& path) {
                         test::write_text(path, "state");
                         rlimit none{};
                         ::getrlimit(RLIMIT_NOFILE, &none);
                         none.rlim_cur = 0;
                         ::setrlimit(RLIMIT_NOFILE, &none);
                       },
                   .load = [](const std::string&) {}});
  test::SavedObjects saved;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  int code = 0;
  std::string message;
  try {
    saved.save("trainer", state);
  } catch (const Failure& failure) {
    code = failure.exit_code;
    message = failure.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(code, 84);
  EXPECT_THAT(message, HasSubstr("cannot be read: Too many open files"));
}

}  // namespace
}  // namespace ratoon::session::file_state_test
