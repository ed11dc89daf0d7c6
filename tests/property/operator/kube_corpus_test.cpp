// The fuzz targets of an API server's messages, as tests/property/agent/corpus_test.cpp has the others.
#include <gtest/gtest.h>

#include "tests/property/corpus.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::kube_corpus_test {
namespace {

TEST(KubeCorpus, OfEveryFuzzTargetKeepsTheLaws) {
  test::run_corpus("watch", fuzz::watch);
  test::run_corpus("kube_objects", fuzz::kube_objects);
  test::run_corpus("training_job", fuzz::training_job);
}

}  // namespace
}  // namespace ratoon::kube_corpus_test
