// The fuzz targets on the inputs that are worth keeping, in every build; tests/fuzz/tests.cmake tells how to
// dig.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/fuzz_targets.h"
#include "tests/support/temporary_folder.h"

namespace ratoon {
namespace {

void run_corpus(const std::string& name, void (*target)(std::string_view)) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz/corpus/" + name)) {
    SCOPED_TRACE(file.path().string());
    target(test::read_text(file.path()));
    ++count;
  }
  EXPECT_GT(count, 5);
}

TEST(Corpus, OfEveryFuzzTargetKeepsTheLaws) {
  run_corpus("board", fuzz::board);
  run_corpus("contract", fuzz::contract);
  run_corpus("pack_header", fuzz::pack_header);
  run_corpus("manifest", fuzz::manifest);
  run_corpus("rollback", fuzz::rollback);
  run_corpus("claim", fuzz::claim);
  run_corpus("slot_info", fuzz::slot_info);
  run_corpus("stream", fuzz::stream);
  run_corpus("objects", fuzz::objects);
  run_corpus("torch_order", fuzz::torch_order);
  run_corpus("pt_file", fuzz::pt_file);
  run_corpus("safetensors_file", fuzz::safetensors_file);
}

}  // namespace
}  // namespace ratoon
