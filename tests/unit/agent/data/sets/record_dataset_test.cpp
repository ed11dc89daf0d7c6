#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>
#include <ratoon/record_dataset.h>

#include "agent/src/data/sets/folder/digest_sidecar.h"
#include "agent/src/data/sets/folder/file_hash.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::record_dataset_test {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A letter and a pair of numbers: 5 bytes.
RecordOptions letters() {
  return {.columns = {{.name = "letter", .type = ElementType::kUint8, .shape = {{}}},
                      {.name = "pair", .type = ElementType::kUint16, .shape = {{2}}}}};
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

void set_modified(const fs::path& path, std::int64_t seconds) {
  const timespec times[] = {{.tv_sec = seconds, .tv_nsec = 5}, {.tv_sec = seconds, .tv_nsec = 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

constexpr std::int64_t kLongAgo = 1'700'000'000;

TEST(RecordDataset, GivesTheColumnsOfEachRecord) {
  TemporaryFolder folder;
  test::write_text(folder / "records", std::string("HEADERSa\1\0\2\0b\3\0\4\1", 17));
  RecordOptions options = letters();
  options.header_bytes = 7;
  const auto records = RecordDataset::open(folder / "records", options);
  ASSERT_EQ(records->size(), 2u);
  Sample sample;
  records->read(1, sample);
  EXPECT_EQ(sample.id(), 1u);
  EXPECT_EQ(sample.field(0).text(), "b");
  EXPECT_TRUE(sample.field(0).shape.empty());
  EXPECT_THAT(sample.field(1).shape, ElementsAre(2u));
  EXPECT_EQ(sample.field(1).text(), std::string_view("\3\0\4\1", 4));
  EXPECT_THROW(records->read(2, sample), std::out_of_range);
  EXPECT_EQ(records->column("pair"), 1u);
}

TEST(RecordDataset, RefusesALengthThatIsNoWholeNumberOfRecords) {
  TemporaryFolder folder;
  for (const std::size_t bytes : {1u, 4u, 6u, 16u}) {
    test::write_text(folder / "records", std::string(bytes, 'x'));
    EXPECT_THAT(sentence_of([&] { RecordDataset(folder / "records", letters()); }),
                AllOf(HasSubstr("records has " + std::to_string(bytes) + " bytes"), HasSubstr("of 5 bytes")));
  }
  RecordOptions options = letters();
  options.header_bytes = 17;
  EXPECT_THAT(sentence_of([&] { RecordDataset(folder / "records", options); }),
              HasSubstr("17 bytes of header"));
  options.header_bytes = 16;
  EXPECT_EQ(RecordDataset(folder / "records", options).size(), 0u);
}

TEST(RecordDataset, AFileThatIsCutBetweenRecordsIsOtherData) {
  TemporaryFolder folder;
  test::write_text(folder / "whole", "abcdeABCDE");
  test::write_text(folder / "cut", "abcde");
  const RecordDataset whole(folder / "whole", letters()), cut(folder / "cut", letters());
  Stream saved({.global_batch = 1, .sources = {source_of(whole)}});
  Stream other({.global_batch = 1, .sources = {source_of(cut)}});
  EXPECT_THAT(sentence_of([&] { other.load_state(saved.save_state()); }),
              AllOf(HasSubstr(whole.digest()), HasSubstr(cut.digest())));
}

TEST(RecordDataset, RefusesWhatIsNoFileOrNoRecord) {
  TemporaryFolder folder;
  EXPECT_THAT(sentence_of([&] { RecordDataset(folder.path(), letters()); }), HasSubstr("no regular file"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(sentence_of([&] { RecordDataset(folder / "pipe", letters()); }), HasSubstr("no regular file"));
  EXPECT_THROW(RecordDataset(folder / "x", {}), std::invalid_argument);
  EXPECT_THROW(RecordDataset(folder / "x", {.columns = {{.name = "a"}}}), std::invalid_argument)
      << "no shape";
  EXPECT_THROW(RecordDataset(folder / "x", {.columns = {{.name = "a", .shape = {{0}}}}}),
               std::invalid_argument);
  EXPECT_THROW(
      RecordDataset(folder / "x", {.columns = {{.name = "a", .shape = {{}}}, {.name = "a", .shape = {{}}}}}),
      std::invalid_argument);
}

// An empty folder may be the mount point of a volume that is mounted later. If other files exist beside it,
// the name is wrong.
TEST(RecordDataset, AFileThatIsNotThereMayComeOrHasAWrongName) {
  TemporaryFolder folder;
  const auto open = [&](const fs::path& file) { return [file] { RecordDataset(file, letters()); }; };
  for (const fs::path& file : {folder / "train", folder / "run/7/train"})
    EXPECT_THAT(sentence_of(open(file), 84), AllOf(HasSubstr(file.string()), HasSubstr("mounted")));
  fs::create_symlink(folder / "volume/train", folder / "link");
  EXPECT_THAT(sentence_of(open(folder / "link"), 84), HasSubstr("mounted")) << "to nowhere";
  EXPECT_THAT(sentence_of(open(folder / "link/train"), 84), HasSubstr("mounted"));
  for (const fs::path& file : {folder / "train", folder / "run/7/train"})
    EXPECT_THAT(sentence_of(open(file)), Not(HasSubstr("mounted")));
}

TEST(RecordDataset, AFileThatLeftAfterItWasOpenedMayComeBack) {
  TemporaryFolder folder;
  test::write_text(folder / "records", "abcde");
  test::write_text(folder / "other", "");
  const RecordDataset records(folder / "records", letters());
  fs::remove(folder / "records");
  EXPECT_THAT(sentence_of([&] { static_cast<void>(records.digest()); }, 84), HasSubstr("records"));
}

// Their sum, taken modulo 2^64, would be a record of one byte.
TEST(RecordDataset, RefusesColumnsThatAreTooLargeTogether) {
  const TemporaryFolder folder;
  test::write_text(folder / "x", "1");
  const std::vector<std::uint64_t> quarter = {std::uint64_t{1} << 62};
  std::vector<Column> columns = {{.name = "one", .shape = {{1}}}};
  for (const char* name : {"a", "b", "c", "d"}) columns.push_back({.name = name, .shape = quarter});
  EXPECT_THROW(RecordDataset(folder / "x", {.columns = columns}), std::invalid_argument);
}

TEST(RecordDataset, ItsDigestIsOfContent) {
  TemporaryFolder folder;
  test::write_text(folder / "one", "abcdeABCDE");
  test::write_text(folder / "same", "abcdeABCDE");
  test::write_text(folder / "other", "abcdeABCDF");
  const auto digest = [&](const char* name) { return RecordDataset(folder / name, letters()).digest(); };
  EXPECT_EQ(digest("one"), digest("same"));
  EXPECT_NE(digest("one"), digest("other"));
  RecordOptions renamed = letters();
  renamed.columns[0].name = "digit";
  EXPECT_NE(RecordDataset(folder / "one", renamed).digest(), digest("one"));
  RecordOptions with_header = letters();
  with_header.header_bytes = 2;
  test::write_text(folder / "header", "..abcdeABCDE");
  EXPECT_EQ(RecordDataset(folder / "header", with_header).digest(), digest("one"))
      << "headers are no content";
}

TEST(RecordDataset, ADeclaredDigestReadsNothingAndIsNoContentsDigest) {
  TemporaryFolder folder;
  test::write_text(folder / "one", "abcde");
  RecordOptions options = letters();
  options.declared_digest = "web 2026-03";
  const std::string declared = RecordDataset(folder / "one", options).digest();
  EXPECT_FALSE(fs::exists(data::digest_sidecar_path(folder / "one")));
  test::write_text(folder / "one", "ABCDE");
  EXPECT_EQ(RecordDataset(folder / "one", options).digest(), declared) << "its owner answers for it";
  EXPECT_NE(RecordDataset(folder / "one", letters()).digest(), declared);
  test::write_text(folder / "one", "ABCDEABCDE");
  EXPECT_NE(RecordDataset(folder / "one", options).digest(), declared) << "not for what has another length";
}

TEST(RecordDataset, KeepsTheHashBesideTheFileAndBelievesIt) {
  TemporaryFolder folder;
  const fs::path file = folder / "records";
  test::write_text(file, "abcdeABCDE");
  set_modified(file, kLongAgo);
  const std::string digest = RecordDataset(file, letters()).digest();
  const fs::path note = data::digest_sidecar_path(file);
  ASSERT_TRUE(fs::exists(note));
  test::write_text(file, "XXXXXXXXXX");
  set_modified(file, kLongAgo);  // what make and rsync would not see either
  EXPECT_EQ(RecordDataset(file, letters()).digest(), digest)
      << "nothing is read while time and length are the same";
  set_modified(file, kLongAgo + 1);
  const std::string changed = RecordDataset(file, letters()).digest();
  EXPECT_NE(changed, digest);
  EXPECT_EQ(RecordDataset(file, letters()).digest(), changed);
}

TEST(RecordDataset, DoesNotBelieveANoteAsOldAsTheFilesLastChange) {
  TemporaryFolder folder;
  const fs::path file = folder / "records";
  test::write_text(file, "abcdeABCDE");
  set_modified(file, kLongAgo);
  const std::string digest = RecordDataset(file, letters()).digest();
  test::write_text(file, "XXXXXXXXXX");
  set_modified(file, kLongAgo);
  set_modified(data::digest_sidecar_path(file),
               kLongAgo + 1);  // the clock of a coarse file system may not have moved
  EXPECT_NE(RecordDataset(file, letters()).digest(), digest);
}

TEST(RecordDataset, ADamagedNoteCostsAReadAndNothingElse) {
  TemporaryFolder folder;
  const fs::path file = folder / "records";
  const fs::path note = data::digest_sidecar_path(file);
  test::write_text(file, "abcdeABCDE");
  set_modified(file, kLongAgo);
  const std::string digest = RecordDataset(file, letters()).digest();
  const std::string good = test::read_text(note);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    test::write_text(note, good.substr(0, size));
    ASSERT_EQ(RecordDataset(file, letters()).digest(), digest) << size;
    ASSERT_EQ(test::read_text(note), good) << "it is written anew";
  }
  test::write_text(note, good + "\n");
  EXPECT_EQ(RecordDataset(file, letters()).digest(), digest);
  fs::remove(note);
  fs::create_directory(note);
  EXPECT_EQ(RecordDataset(file, letters()).digest(), digest) << "where no note can be kept, too";
}

TEST(RecordDataset, AFileThatWasReplacedAfterItWasOpenedIsRefused) {
  TemporaryFolder folder;
  test::write_text(folder / "records", "abcde");
  const RecordDataset records(folder / "records", letters());
  for (const char* content : {"ABCDEabcde", "ABCDE"}) {
    test::write_text(folder / "new", content);
    set_modified(folder / "new", kLongAgo);
    fs::rename(folder / "new", folder / "records");
    EXPECT_THAT(sentence_of([&] { static_cast<void>(records.digest()); }, 81), HasSubstr("was replaced"))
        << "the next start reads the new file";
  }
  Sample sample;
  records.read(0, sample);
  EXPECT_EQ(sample.field(0).text(), "a") << "what was opened stays readable";
}

TEST(RecordDataset, HintsOfAnySampleAreHarmless) {
  TemporaryFolder folder;
  test::write_text(folder / "records", std::string(3 * 20000, 'x'));
  const RecordDataset records(folder / "records",
                              {.columns = {{.name = "x", .type = ElementType::kBytes, .shape = {{20000}}}}});
  const std::uint64_t ids[] = {2, 0, 1, 3, ~std::uint64_t{0}};
  records.expect(ids);
}

// One try may fall between two changes; many tries do not.
TEST(HashFile, AFileThatChangesMeanwhileIsRefused) {
  TemporaryFolder folder;
  const fs::path file = folder / "records";
  test::write_text(file, std::string(1 << 22, 'x'));
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::int64_t second = 0; !stop.stop_requested(); ++second) set_modified(file, kLongAgo + second);
  });
  bool was_refused = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!was_refused && std::chrono::steady_clock::now() < end) {
    const auto hashed = data::hash_file(file, 0);
    was_refused = !hashed && hashed.error().kind() == ErrorKind::kConflict;
  }
  EXPECT_TRUE(was_refused);
}

}  // namespace
}  // namespace ratoon::record_dataset_test
