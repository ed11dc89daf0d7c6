// A fuzz target on the inputs that are worth keeping.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::test {

inline void run_corpus(const std::string& name, void (*target)(std::string_view)) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz/corpus/" + name)) {
    SCOPED_TRACE(file.path().string());
    target(read_text(file.path()));
    ++count;
  }
  EXPECT_GT(count, 5);
}

}  // namespace ratoon::test
