#include "operator/runtime/jobs/pruned_fields.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon::runtime::pruned_fields_test {
namespace {

using nlohmann::json;

std::string text_in(const UniqueFd& file) {
  std::array<char, 4096> text{};
  const auto bytes = pread(file.get(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(bytes)};
}

TEST(PrunedFields, AreSentAgainOnceInAWhileAndToldOnce) {
  const UniqueFd said(memfd_create("log", MFD_CLOEXEC));
  ManualClock clock;
  const Logger logger(clock, {.fd = said.get()});
  PrunedFields fields(clock, logger);
  const json wanted = {{"phase", "Running"}, {"ledger", {{"load", 1}}}};
  const auto left = [&] {
    json status = wanted;
    fields.remove_pruned_from(status, {{"phase", "Pending"}});
    return status;
  };
  fields.record_pruned(wanted, wanted);
  EXPECT_EQ(left(), wanted);
  EXPECT_EQ(text_in(said), "");
  const json stored = {{"phase", "Running"}};
  fields.record_pruned(wanted, stored);
  EXPECT_EQ(left(), stored);
  const std::string told = text_in(said);
  EXPECT_NE(told.find("status.ledger"), std::string::npos) << told;
  clock.advance(std::chrono::minutes(10));
  EXPECT_EQ(left(), wanted) << "the definition may be up to date by now";
  fields.record_pruned(wanted, stored);
  EXPECT_EQ(left(), stored);
  EXPECT_EQ(text_in(said), told);
  json status = wanted;
  fields.remove_pruned_from(status, wanted);
  EXPECT_EQ(status, wanted) << "what is stored is never taken back";
  EXPECT_FALSE(fields.has_any());
}

}  // namespace
}  // namespace ratoon::runtime::pruned_fields_test
