#include "cli/checkpoint/commands/export_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::cli::export_name_test {
namespace {

class ExportName : public testing::Test {
 protected:
  std::string name(const std::string& file, std::optional<std::uint32_t> rank = {}) const {
    const auto named = make_export_name(file, "s3://bucket/runs/digits/", manifest_, rank,
                                        *parse_rfc3339("2026-11-21T11:38:21.250Z"));
    return named ? *named : named.error().message();
  }

  checkpoint::Manifest manifest_{.id = {.attempt = Attempt(2), .step = Step(1200)},
                                 .writer = "",
                                 .packs = {},
                                 .run = checkpoint::RunRecord{.samples = 7, .epoch_samples = 2}};
};

TEST_F(ExportName, SaysWhatTheCheckpointIs) {
  EXPECT_EQ(name("/out/{run_name}-ep{epoch}-ba{batch}-rank{rank}.pt", 3), "/out/digits-ep3-ba1200-rank3.pt");
  EXPECT_EQ(name("{timestamp}.pt"), "2026-11-21T11-38-21.250Z.pt");
  manifest_.run.reset();
  EXPECT_EQ(name("ep{epoch}.pt"), "ep0.pt") << "nothing is known of epochs";
}

TEST_F(ExportName, WithoutBracesIsTakenAsItIs) {
  EXPECT_EQ(name("../a b.pt"), "../a b.pt");
  EXPECT_EQ(name("/out{1}/a.pt"), "/out{1}/a.pt") << "a folder is no name of ours";
}

TEST_F(ExportName, WithAnUnknownPlaceholderIsAnError) {
  EXPECT_THAT(name("{loss}.pt"), testing::HasSubstr("unknown placeholder {loss}: expected {run_name}"));
}

}  // namespace
}  // namespace ratoon::cli::export_name_test
