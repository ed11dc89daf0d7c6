#include "base/core/read_file.h"

#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::read_file_test {
namespace {

using testing::HasSubstr;

class ReadFile : public testing::Test {
 protected:
  std::filesystem::path holding(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "file";
};

TEST_F(ReadFile, GivesAllBytesUpToTheLimit) {
  for (const std::size_t size : {0u, 1u, 65'536u, 65'537u, 200'000u}) {
    const std::string text(size, '\xff');
    EXPECT_TRUE(*read_file(holding(text)) == text) << size;
  }
  EXPECT_EQ(*read_file(holding("12345"), 5), "12345");
  const auto larger = read_file(holding("123456"), 5);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(larger.error().message(), HasSubstr("has over 5 bytes"));
}

TEST_F(ReadFile, NamesWhatCannotBeRead) {
  const auto missing = read_file(path_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(path_.string()));
  EXPECT_FALSE(read_file(path_.parent_path())) << "a folder";
}

TEST_F(ReadFile, WaitsForTheBytesOfAPipeAndNotForItsOtherEnd) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(*read_file(path_), "") << "nobody writes";
  std::fstream writer(path_);  // for reading too, so that it waits for nobody either
  std::thread later([&] {
    writer << std::string(100'000, 'x');
    writer.close();
  });
  EXPECT_EQ(read_file(path_)->size(), 100'000u);
  later.join();
}

}  // namespace
}  // namespace ratoon::read_file_test
