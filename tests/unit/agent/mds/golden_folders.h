// The folders in golden/, which MosaicML Streaming's own writer made, and their expected contents.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ratoon/mds_dataset.h>

#include "agent/src/mds/format/hash.h"
#include "base/core/hex.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::mds {

inline const std::filesystem::path kGolden = "tests/unit/agent/mds/golden";

inline const std::vector<std::string>& golden_names() {
  static const std::vector<std::string> names = {"bytes",
                                                 "compressed/br",
                                                 "compressed/br-3",
                                                 "compressed/bz2",
                                                 "compressed/bz2-1",
                                                 "compressed/gz",
                                                 "compressed/gz-0",
                                                 "compressed/snappy",
                                                 "compressed/zstd",
                                                 "compressed/zstd-19",
                                                 "empty_shard",
                                                 "every",
                                                 "hashes",
                                                 "merged",
                                                 "names",
                                                 "nothing",
                                                 "split",
                                                 "unlimited",
                                                 "worked",
                                                 "zstd_hashes"};
  return names;
}

inline nlohmann::json expected_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(test::read_text(folder / "expected.json"));
}

inline void expect_field(const Field& field, const nlohmann::json& expected) {
  EXPECT_EQ(name_of(field.type), expected["type"].get<std::string>());
  EXPECT_EQ(std::vector<std::uint64_t>(field.shape.begin(), field.shape.end()),
            expected["shape"].get<std::vector<std::uint64_t>>());
  EXPECT_EQ(bytes_of(field.type, field.shape), field.bytes.size());
  if (expected.contains("hex"))
    EXPECT_EQ(to_hex(field.bytes), expected["hex"].get<std::string>());
  else
    EXPECT_EQ(hash_of("sha256", field.bytes).value(), expected["sha256"].get<std::string>());
}

// Reads every sample and compares every field.
inline void expect_content(const MdsDataset& data, const nlohmann::json& expected) {
  ASSERT_EQ(data.size(), expected["samples"].size());
  Sample sample, elements;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, sample);
    EXPECT_EQ(sample.id(), id);
    const auto& fields = expected["samples"][id];
    ASSERT_EQ(sample.size(), fields.size());
    for (const auto& [name, field] : fields.items()) {
      SCOPED_TRACE("sample " + std::to_string(id) + ", column " + name);
      const std::size_t column = data.column(name);
      EXPECT_EQ(data.encoding(column), expected["encodings"][name].get<std::string>());
      if (!field.contains("elements")) {
        expect_field(sample.field(column), field);
        const Column& described = data.columns()[column];
        EXPECT_TRUE(described.type == sample.field(column).type || data.encoding(column) == "ndarray");
        const auto shape = field["shape"].get<std::vector<std::uint64_t>>();
        EXPECT_EQ(described.shape.value_or(shape), shape);
        continue;
      }
      data.elements(column, sample.field(column), elements);
      ASSERT_EQ(elements.size(), field["elements"].size());
      for (std::size_t i = 0; i < elements.size(); ++i) expect_field(elements.field(i), field["elements"][i]);
    }
  }
}

}  // namespace ratoon::mds
