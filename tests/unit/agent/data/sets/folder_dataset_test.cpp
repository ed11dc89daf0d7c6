#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ratoon/failure.h>
#include <ratoon/folder_dataset.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::folder_dataset_test {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void make_file(const fs::path& path, std::string_view text = "") {
  fs::create_directories(path.parent_path());
  test::write_text(path, text);
}

std::string sentence_of(const std::function<void()>& function, int exit_code = 82) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, exit_code) << failure.what();
    return failure.what();
  }
  return "no Failure was thrown";
}

std::vector<std::string> files_of(const FolderDataset& folder) {
  std::vector<std::string> files;
  for (std::uint64_t id = 0; id < folder.size(); ++id) files.push_back(folder.file_of(id));
  return files;
}

// ---- the files that torchvision finds: see golden/folder_order.py

std::string unquote(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 2, 2)), nullptr, 16));
    i += 3;
  }
  return bytes;
}

struct GoldenCase {
  std::string name;
  FolderOptions options{.digest = FolderDigest::kNames};
  std::vector<std::string> classes, samples;
  TemporaryFolder folder;
};

void take_line(GoldenCase& golden, const std::string& kind, std::istringstream& words) {
  std::string first, second;
  words >> first >> second;
  const fs::path path = golden.folder / unquote(first);
  if (kind == "extensions" && first != "-") golden.options.extensions = {first};
  if (kind == "extensions" && !second.empty()) golden.options.extensions.push_back(second);
  if (kind == "allow_empty") golden.options.allows_empty_classes = first == "1";
  if (kind == "folder") fs::create_directories(path);
  if (kind == "file") make_file(path);
  if (kind == "link") fs::create_symlink(unquote(second), path);
  if (kind == "class") golden.classes.push_back(unquote(first));
  if (kind == "sample") golden.samples.push_back(first + " " + unquote(second));
}

std::vector<std::unique_ptr<GoldenCase>> golden_cases() {
  std::ifstream file("tests/unit/agent/data/golden/folder_order.txt");
  std::vector<std::unique_ptr<GoldenCase>> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "case") cases.push_back(std::make_unique<GoldenCase>());
    if (kind == "case")
      words >> cases.back()->name;
    else if (kind != "#")
      take_line(*cases.back(), kind, words);
  }
  return cases;
}

TEST(FolderDataset, NumbersFilesAsTorchvisionDoes) {
  const auto cases = golden_cases();
  EXPECT_EQ(cases.size(), 10u);
  for (const auto& golden : cases) {
    SCOPED_TRACE(golden->name);
    const FolderDataset folder(golden->folder.path(), golden->options);
    EXPECT_EQ(folder.classes(), golden->classes);
    std::vector<std::string> samples;
    for (std::uint64_t id = 0; id < folder.size(); ++id)
      samples.push_back(std::to_string(folder.label_of(id)) + " " + folder.file_of(id));
    EXPECT_EQ(samples, golden->samples);
    EXPECT_FALSE(samples.empty());
  }
}

// ---- reading

TEST(FolderDataset, GivesBytesAndLabel) {
  TemporaryFolder root;
  make_file(root / "cat/a.png", "meow");
  make_file(root / "dog/a.png", "");
  make_file(root / "dog/b.png", std::string(100000, 'w'));
  const auto folder = FolderDataset::open(root.path(), {});
  Sample sample;
  folder->read(0, sample);
  EXPECT_EQ(sample.field(0).text(), "meow");
  EXPECT_THAT(sample.field(0).shape, ElementsAre(4u));
  EXPECT_EQ(sample.field(folder->column("label")).as<std::int64_t>(), 0);
  folder->read(1, sample);
  EXPECT_EQ(sample.field(0).text(), "");
  EXPECT_EQ(sample.field(1).as<std::int64_t>(), 1);
  folder->read(2, sample);
  EXPECT_EQ(sample.field(0).text(), std::string(100000, 'w'));
  EXPECT_EQ(sample.id(), 2u);
  EXPECT_THROW(folder->read(3, sample), std::out_of_range);
}

FolderOptions first_byte() {
  return {.columns = {{.name = "first", .type = ElementType::kUint8, .shape = {{}}}},
          .decode = [](std::span<const std::byte> file, Sample& into) {
            if (file.empty()) throw std::runtime_error("there is no first byte");
            into.add(ElementType::kUint8, {})[0] = file[0];
          }};
}

TEST(FolderDataset, DecodesWithTheUsersFunction) {
  TemporaryFolder root;
  make_file(root / "a/x.png", "xyz");
  make_file(root / "a/y.png", "");
  const FolderDataset folder(root.path(), first_byte());
  ASSERT_EQ(folder.columns().size(), 2u);
  Sample sample;
  folder.read(0, sample);
  EXPECT_EQ(sample.field(0).as<char>(), 'x');
  EXPECT_EQ(sample.field(1).as<std::int64_t>(), 0);
  try {
    folder.read(1, sample);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "decoding " + (root / "a/y.png").string() + ": there is no first byte");
  }
}

TEST(FolderDataset, ADecoderThatAddsTooLittleIsNamed) {
  TemporaryFolder root;
  make_file(root / "a/x.png", "xyz");
  FolderOptions options = first_byte();
  options.decode = [](std::span<const std::byte>, Sample&) {};
  Sample sample;
  EXPECT_THROW(FolderDataset(root.path(), options).read(0, sample), std::logic_error);
  options.columns.clear();
  EXPECT_THROW(FolderDataset(root.path(), options), std::invalid_argument);
  options = first_byte();
  options.columns[0].name = "label";
  EXPECT_THROW(FolderDataset(root.path(), options), std::invalid_argument);
}

// ---- the digest

std::string digest_of(const fs::path& root, FolderDigest which) {
  return FolderDataset(root, {.digest = which}).digest();
}

TEST(FolderDataset, ItsDigestIsOfContentAndNotOfThePlace) {
  TemporaryFolder one, other;
  for (const TemporaryFolder* root : {&one, &other}) {
    make_file(*root / "a/x.png", "1");
    make_file(*root / "b/y.png", "22");
  }
  for (const auto which : {FolderDigest::kNames, FolderDigest::kNamesAndSizes, FolderDigest::kContents})
    EXPECT_EQ(digest_of(one.path(), which), digest_of(other.path(), which));
  EXPECT_NE(digest_of(one.path(), FolderDigest::kNames), digest_of(one.path(), FolderDigest::kContents));
}

TEST(FolderDataset, ItsDigestChangesWithWhatItIsOf) {
  TemporaryFolder root;
  make_file(root / "a/x.png", "1");
  make_file(root / "b/y.png", "22");
  std::map<FolderDigest, std::string> digests;
  const auto changed = [&] {
    std::vector<bool> are_changed;
    for (const auto which : {FolderDigest::kNames, FolderDigest::kNamesAndSizes, FolderDigest::kContents}) {
      const std::string now = digest_of(root.path(), which);
      are_changed.push_back(now != digests[which]);
      digests[which] = now;
    }
    return are_changed;
  };
  static_cast<void>(changed());
  EXPECT_THAT(changed(), ElementsAre(false, false, false));
  make_file(root / "b/y.png", "33");
  EXPECT_THAT(changed(), ElementsAre(false, false, true));
  make_file(root / "b/y.png", "333");
  EXPECT_THAT(changed(), ElementsAre(false, true, true));
  make_file(root / "b/z.png", "");
  EXPECT_THAT(changed(), ElementsAre(true, true, true));
  fs::rename(root / "a", root / "aa");
  EXPECT_THAT(changed(), ElementsAre(true, true, true));
}

// ---- bad input

TEST(FolderDataset, RefusesWhatHasNoClasses) {
  TemporaryFolder root;
  make_file(root / "x.png");
  EXPECT_THAT(sentence_of([&] { FolderDataset(root / "nowhere/train", {}); }),
              AllOf(HasSubstr("nowhere"),
                    HasSubstr("The nearest existing folder above it is " + root.path().string() + ", and")));
  EXPECT_THAT(sentence_of([&] { FolderDataset(root.path(), {}); }),
              AllOf(HasSubstr(root.path().string()), HasSubstr("expected one folder for each class")));
}

TEST(FolderDataset, AnEmptyFolderMayBeAVolumeThatIsNotMountedYet) {
  TemporaryFolder root;
  EXPECT_THAT(sentence_of([&] { FolderDataset(root.path(), {}); }, 84), HasSubstr("mounted"));
  EXPECT_THAT(sentence_of([&] { FolderDataset(root / "train", {}); }, 84), HasSubstr("mounted"));
}

TEST(FolderDataset, RefusesAnEmptyClassUnlessItIsAllowed) {
  TemporaryFolder root;
  make_file(root / "a/x.png");
  make_file(root / "b/x.txt");
  EXPECT_THAT(sentence_of([&] { FolderDataset(root.path(), {.extensions = {".png", ".gif"}}); }),
              AllOf(HasSubstr(".png, .gif: b."), HasSubstr("allows_empty_classes")));
  EXPECT_THAT(files_of(FolderDataset(root.path(), {.allows_empty_classes = true})), ElementsAre("a/x.png"));
}

TEST(FolderDataset, ItsDigestNamesClassesThatHaveNoFile) {
  TemporaryFolder root;
  make_file(root / "a/x.png");
  fs::create_directory(root / "b");
  const auto digest = [&] { return FolderDataset(root.path(), {.allows_empty_classes = true}).digest(); };
  const std::string before = digest();
  fs::rename(root / "b", root / "c");
  EXPECT_NE(digest(), before) << "the label 1 means another thing";
}

TEST(FolderDataset, RefusesALinkThatLeadsInACircle) {
  TemporaryFolder root;
  make_file(root / "a/b/x.png");
  fs::create_directory_symlink("..", root / "a/b/up");
  EXPECT_THAT(sentence_of([&] { FolderDataset(root.path(), {}); }),
              AllOf(HasSubstr("a/b/up"), HasSubstr("leads back")));
}

TEST(FolderDataset, AFileThatIsGoneOrNoFileIsNamed) {
  TemporaryFolder root;
  make_file(root / "a/x.png");
  fs::create_symlink("nowhere", root / "a/y.png");
  ASSERT_EQ(::mkfifo((root / "a/z.png").c_str(), 0600), 0);
  const FolderDataset folder(root.path(), {});
  Sample sample;
  EXPECT_THAT(sentence_of([&] { folder.read(1, sample); }, 84), HasSubstr("a/y.png"));
  EXPECT_THAT(sentence_of([&] { folder.read(2, sample); }), HasSubstr("no regular file"));
  fs::remove(root / "a/x.png");
  // The start had listed the file: it may exist at another time, or on another node.
  EXPECT_THAT(sentence_of([&] { folder.read(0, sample); }, 84), HasSubstr("a/x.png"));
}

// The link is a sample: the data has a name, and other data has another name once the file exists.
TEST(FolderDataset, ALinkToNowhereIsInTheDigest) {
  for (const auto which : {FolderDigest::kNames, FolderDigest::kNamesAndSizes, FolderDigest::kContents}) {
    TemporaryFolder root;
    make_file(root / "a/x.png", "x");
    const std::string without = digest_of(root.path(), which);
    fs::create_symlink("nowhere", root / "a/y.png");
    const std::string with = digest_of(root.path(), which);
    EXPECT_NE(with, without);
    EXPECT_EQ(digest_of(root.path(), which), with);
    make_file(root / "a/nowhere", "");
    EXPECT_EQ(digest_of(root.path(), which) == with, which == FolderDigest::kNames)
        << "there is a file by now";
  }
}

// Linux reports a size of one page for files below /sys, and gives the bytes that exist.
TEST(FolderDataset, AFileThatEndsBeforeItsSizeIsNamed) {
  const fs::path shorter = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (!fs::is_regular_file(shorter)) GTEST_SKIP() << "this kernel has no " << shorter;
  TemporaryFolder root;
  fs::create_directory(root / "a");
  fs::create_symlink(shorter, root / "a/x.png");
  const FolderDataset folder(root.path(), {});
  Sample sample;
  EXPECT_THAT(sentence_of([&] { folder.read(0, sample); }, 84),
              AllOf(HasSubstr("a/x.png"), HasSubstr(", but had 4096 when it was opened")));
}

}  // namespace
}  // namespace ratoon::folder_dataset_test
