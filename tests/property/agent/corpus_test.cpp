// The fuzz targets on the inputs that are worth keeping, in every build; tests/fuzz/tests.cmake explains how
// to fuzz.
#include "tests/property/corpus.h"

#include <filesystem>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/staging/slot_info.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::corpus_test {
namespace {

TEST(Corpus, OfEveryFuzzTargetKeepsTheLaws) {
  test::run_corpus("board", fuzz::board);
  test::run_corpus("contract", fuzz::contract);
  test::run_corpus("pack_header", fuzz::pack_header);
  test::run_corpus("history", fuzz::history);
  test::run_corpus("manifest", fuzz::manifest);
  test::run_corpus("rollback", fuzz::rollback);
  test::run_corpus("claim", fuzz::claim);
  test::run_corpus("slot_info", fuzz::slot_info);
  test::run_corpus("stream", fuzz::stream);
  test::run_corpus("objects", fuzz::objects);
  test::run_corpus("torch_order", fuzz::torch_order);
  test::run_corpus("pt_file", fuzz::pt_file);
  test::run_corpus("safetensors_file", fuzz::safetensors_file);
}

// The corpus of a layout that no reader accepts tests nothing.
TEST(Corpus, OfSlotInfosHasTheLayoutOfThisVersion) {
  for (const char* name : {"free", "staged", "whole_record", "greatest_numbers"}) {
    const std::string bytes = test::read_text(std::filesystem::path("tests/fuzz/corpus/slot_info") / name);
    EXPECT_TRUE(checkpoint::decode_slot_info(std::as_bytes(std::span(bytes)))) << name;
  }
}

}  // namespace
}  // namespace ratoon::corpus_test
