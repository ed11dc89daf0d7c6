// Files that PyTorch 2.11 and safetensors 0.8 wrote: golden/make.py.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent/src/checkpoint/interop/pickle/pickle_writer.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/interop/torch_types.h"
#include "agent/src/checkpoint/interop/zip/crc32.h"
#include "agent/src/checkpoint/interop/zip/zip_reader.h"
#include "tests/unit/agent/checkpoint/interop/interop_support.h"

namespace ratoon::checkpoint::golden_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using namespace test;  // NOLINT

constexpr std::size_t kIdBytes = 40;

const json& expected() {
  static const json known = json::parse(golden("expected.json"));
  return known;
}

std::string unhex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

std::vector<TensorSource> sources_of(const json& tensors, const PtFile& file) {
  std::vector<TensorSource> sources;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& said = tensors[i];
    const ElementType type = torch_type_of_dtype(said["type"].get<std::string>())->type;
    const std::string bytes =
        said.contains("hex") ? unhex(said["hex"].get<std::string>()) : contents(file.tensors.at(i).stored);
    sources.push_back(source(said["name"].get<std::string>(), type, said["shape"].get<TensorShape>(), bytes));
  }
  return sources;
}

void expect_tensor(const json& said, const std::string& name, const StoredTensor& stored) {
  SCOPED_TRACE(name);
  EXPECT_EQ(name, said["name"].get<std::string>());
  EXPECT_EQ(std::string(name_of(stored.type())), said["type"].get<std::string>());
  EXPECT_EQ(stored.shape(), said["shape"].get<TensorShape>());
  const std::string bytes = contents(stored);
  EXPECT_EQ(bytes.size(), stored.size_bytes());
  if (said.contains("hex")) {
    EXPECT_EQ(bytes, unhex(said["hex"].get<std::string>()));
  }
}

json value_of(const PtScalar& scalar) {
  if (const auto* flag = std::get_if<bool>(&scalar.value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&scalar.value)) return *number;
  if (const auto* text = std::get_if<std::string>(&scalar.value)) return *text;
  if (const auto* real = std::get_if<double>(&scalar.value)) return *real;
  return nullptr;
}

// Python's text of a real number, read back.
json said_value(const json& said) {
  const auto& value = said["value"];
  if (!value.is_string() || value == "gr\u00fcn") return value;
  return std::stod(value.get<std::string>());
}

void expect_file(const json& said, const PtFile& file) {
  std::size_t tensors = 0, scalars = 0;
  for (const auto& leaf : said) {
    if (!leaf.contains("value")) {
      ASSERT_LT(tensors, file.tensors.size());
      expect_tensor(leaf, file.tensors[tensors].name, file.tensors[tensors].stored);
      ++tensors;
      continue;
    }
    ASSERT_LT(scalars, file.scalars.size());
    EXPECT_EQ(file.scalars[scalars].name, leaf["name"].get<std::string>());
    EXPECT_EQ(value_of(file.scalars[scalars]), said_value(leaf)) << leaf;
    EXPECT_EQ(value_of(file.scalars[scalars]).type() == json::value_t::boolean, leaf["value"].is_boolean());
    ++scalars;
  }
  EXPECT_EQ(tensors, file.tensors.size());
  EXPECT_EQ(scalars, file.scalars.size());
}

void expect_read(const std::string& name, const json& said) {
  SCOPED_TRACE(name);
  const std::string bytes = golden(name + ".pt");
  const auto file = read_pt(bytes_in(bytes));
  ASSERT_TRUE(file.has_value()) << file.error().message();
  expect_file(said, *file);
}

// Both files without serialization id, which PyTorch takes from its compiler's hash tables, and without its
// CRCs.
std::string without_id(std::string file) {
  const auto records = read_zip(bytes_in(file)).value();
  const ZipRecord& last = records.back();
  EXPECT_EQ(last.bytes.size(), kIdBytes);
  const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(last.bytes.data()) - file.data());
  const std::size_t entry = file.size() - 22 - 20 - 56 - last.name.size() - 46;
  file.replace(at, kIdBytes, kIdBytes, '#');
  file.replace(at + kIdBytes + 4, 4, 4, '#');
  file.replace(entry + 16, 4, 4, '#');
  return file;
}

TEST(TorchGolden, IsReadAsItWasWritten) {
  for (const auto& [name, said] : expected()["plain"].items()) {
    expect_read(name, said);
  }
}

TEST(TorchGolden, ViewsContainersAndPlainValuesAreRead) {
  for (const auto& [name, said] : expected()["read"].items()) {
    expect_read(name, said);
  }
}

TEST(TorchGolden, IsWrittenByteForByte) {
  for (const auto& [name, said] : expected()["plain"].items()) {
    SCOPED_TRACE(name);
    const std::string theirs = golden(name + ".pt");
    const auto file = read_pt(bytes_in(theirs)).value();
    TextSink ours;
    ASSERT_TRUE(write_pt(sources_of(said, file), ours, {.archive = name}).has_value());
    EXPECT_EQ(without_id(ours.text), without_id(theirs));
    EXPECT_EQ(read_pt(bytes_in(ours.text)).value().tensors.size(), said.size());
  }
}

TEST(TorchGolden, WhatIsMoreThanTensorsIsRefusedByName) {
  for (const auto& [name, word] : expected()["refused"].items()) {
    SCOPED_TRACE(name);
    const std::string bytes = golden("refused_" + name + ".pt");
    const auto file = read_pt(bytes_in(bytes));
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(file.error().message(), HasSubstr(word.get<std::string>()));
  }
}

// Of C++: tests/torch/cpp_archives.cpp.
TEST(LibTorchGolden, WhatPickleSaveWroteIsRead) {
  const json said = json::parse(golden("cpp.json"));
  ASSERT_EQ(said.size(), 2u);
  for (const auto& [name, leaves] : said.items()) {
    expect_read(name, leaves);
  }
}

TEST(LibTorchGolden, WhatHoldsCodeOrNewTypesIsRefusedWithAWayOn) {
  for (const auto& [name, word] : {std::pair("tensor", "torch::pickle_save"),
                                   {"module", "torch::pickle_save"},
                                   {"optimizer", "torch::pickle_save"},
                                   {"archive", "torch::pickle_save"},
                                   {"new_types", "convert the tensor"}}) {
    SCOPED_TRACE(name);
    const std::string bytes = golden(std::string("refused_cpp_") + name + ".pt");
    const auto file = read_pt(bytes_in(bytes));
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(file.error().message(), HasSubstr(word));
  }
}

TEST(TorchGolden, ChecksumsThatWereNotWrittenCanBeDoneWithout) {
  const std::string bytes = golden("refused_unsummed.pt");
  const auto file = read_pt(bytes_in(bytes), {.checksums_may_be_missing = true});
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ(contents(file->tensors.at(0).stored), std::string("\0\0\x80\x3f\0\0\x80\x3f", 8));
}

// Items of a dictionary are set 1000 at a time, which changes the surrounding instructions.
TEST(TorchGolden, PicklesOfManyTensorsAreTheSame) {
  for (const auto& [count, sum] : expected()["pickles"].items()) {
    std::vector<TensorSource> sources;
    for (int i = 0; i < std::stoi(count); ++i)
      sources.push_back(source("t" + std::to_string(i), ElementType::kUint8, {1}, "x"));
    EXPECT_EQ(crc32(bytes_in(pickle_of(sources).value())), sum.get<std::uint32_t>()) << count;
  }
}

TEST(SafetensorsGolden, IsWrittenByteForByteInWhateverOrder) {
  for (const auto& [name, said] : expected()["plain"].items()) {
    SCOPED_TRACE(name);
    const std::string pt = golden(name + ".pt");
    auto sources = sources_of(said, read_pt(bytes_in(pt)).value());
    for (int turn = 0; turn < 2; ++turn) {
      TextSink ours;
      ASSERT_TRUE(write_safetensors(sources, ours).has_value());
      EXPECT_EQ(ours.text, golden(name + ".safetensors"));
      std::reverse(sources.begin(), sources.end());
    }
  }
  TextSink ours;
  const std::string bytes = "\x07\x0a\x0d\x10\x13\x16\x19\x1c";
  ASSERT_TRUE(
      write_safetensors(std::vector{source("w", ElementType::kFloat32, {2}, bytes)}, ours, {{"format", "pt"}})
          .has_value());
  EXPECT_EQ(ours.text, golden("metadata.safetensors"));
}

StoredTensor stored(const TensorView& view) {
  TensorShape strides(view.shape.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * view.shape[i];
  return StoredTensor::make(view.type, view.shape, strides, 0, view.bytes).value();
}

TEST(SafetensorsGolden, IsReadAsItWasWritten) {
  for (const auto& [name, said] : expected()["plain"].items()) {
    SCOPED_TRACE(name);
    const std::string bytes = golden(name + ".safetensors");
    const auto views = read_safetensors(bytes_in(bytes));
    ASSERT_TRUE(views.has_value()) << views.error().message();
    ASSERT_EQ(views->size(), said.size());
    for (const TensorView& view : *views) {
      const auto leaf = std::find_if(said.begin(), said.end(), [&](const json& entry) {
        return entry["name"].get<std::string>() == view.name;
      });
      ASSERT_NE(leaf, said.end()) << view.name;
      expect_tensor(*leaf, view.name, stored(view));
    }
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::golden_test
