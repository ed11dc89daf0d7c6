// The fuzz targets of connections and of files that people write, as tests/property/agent/corpus_test.cpp has
// the others.
#include <gtest/gtest.h>

#include "tests/property/corpus.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::stranger_corpus_test {
namespace {

TEST(StrangerCorpus, OfEveryFuzzTargetKeepsTheLaws) {
  test::run_corpus("http_server", fuzz::http_server);
  test::run_corpus("http_reply", fuzz::http_reply);
  test::run_corpus("kubeconfig", fuzz::kubeconfig);
  test::run_corpus("job_file", fuzz::job_file);
  test::run_corpus("control", fuzz::control);
}

}  // namespace
}  // namespace ratoon::stranger_corpus_test
