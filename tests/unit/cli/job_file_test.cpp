#include "cli/job/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace ratoon::cli::job_file_test {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kJob = R"(apiVersion: ratoon.dev/v1alpha1
kind: TrainingJob
metadata:
  name: counter
spec:
  numNodes: 2
  roles:
    - name: worker
      template:
        spec:
          containers:
            - name: trainer
              command: [counter, --steps, "400"]
)";

class JobFileTest : public testing::Test {
 protected:
  Result<api::TrainingJob> read(const std::string& text, const std::vector<std::string>& more = {}) {
    test::write_text(path_, text);
    return read_job_file(path_, more);
  }
  // The JSON forms of YAML's words for one value.
  json value_of(const std::string& words) {
    std::string text = kJob;
    text.insert(text.find("spec:"), "  extra: " + words + "\n");  // metadata is Kubernetes' own
    const auto job = read(text);
    EXPECT_TRUE(job) << words << ": " << job.error().message();
    return job ? (*job->document)["metadata"]["extra"] : json("refused");
  }
  std::string complaint(const std::string& text) {
    const auto job = read(text);
    EXPECT_FALSE(job);
    return job ? "" : job.error().message();
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "job.yaml";
};

TEST_F(JobFileTest, IsWhatKubectlTakes) {
  const auto job = read(kJob);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->meta.name, "counter");
  EXPECT_EQ(job->spec.num_nodes, 2u);
  EXPECT_EQ(job->spec.roles[0].command, std::vector<std::string>({"counter", "--steps", "400"}));
}

TEST_F(JobFileTest, MoreArgumentsGoToTheTrainer) {
  EXPECT_EQ(read(kJob, {"--steps", "5"})->spec.roles[0].command,
            std::vector<std::string>({"counter", "--steps", "400", "--steps", "5"}));
}

TEST_F(JobFileTest, WhatIsStoredOfTheJobHasTheArgumentsThatItRunsWith) {
  const json::json_pointer container("/spec/roles/0/template/spec/containers/0");
  const auto stored_of = [&](const std::string& text, const std::vector<std::string>& more) {
    const auto job = read(text, more);
    EXPECT_TRUE(job) << job.error().message();
    return job ? api::encode_training_job(*job)[container] : json();
  };
  EXPECT_EQ(stored_of(kJob, {"--steps", "5"})["args"], json({"--steps", "5"}));
  EXPECT_FALSE(stored_of(kJob, {}).contains("args"));

  const std::string with_arguments = std::string(kJob) + "              args: [--seed, \"1\"]\n";
  const json stored = stored_of(with_arguments, {"--seed", "2"});
  EXPECT_EQ(stored["command"], json({"counter", "--steps", "400"}));
  EXPECT_EQ(stored["args"], json({"--seed", "1", "--seed", "2"}));
}

TEST_F(JobFileTest, ArgumentsForWhatIsNoJobLeaveItsMistakeToBeNamed) {
  EXPECT_FALSE(read(std::string(kJob) + "              args: 5\n", {"--steps", "5"}));
  EXPECT_FALSE(read("spec: {roles: none}\n", {"--steps", "5"}));
  EXPECT_FALSE(read("- a\n", {"--steps", "5"}));
}

TEST_F(JobFileTest, TheExampleIsOne) {
  EXPECT_TRUE(read_job_file("examples/counter/job.yaml", {}));
}

TEST_F(JobFileTest, ValuesHaveTheTypesThatTheyHaveInKubernetes) {
  const struct {
    const char* words;
    json value;
  } cases[] = {
      {"5", 5},
      {"-5", -5},
      {"0", 0},
      {"1.5", 1.5},
      {"-1e3", -1000.0},
      {"true", true},
      {"false", false},
      {"True", true},
      {"FALSE", false},
      {"null", nullptr},
      {"~", nullptr},
      {"Null", nullptr},
      {"", nullptr},
      {"\"5\"", "5"},
      {"'true'", "true"},
      {"\"\"", ""},
      {"'null'", "null"},
      {"five", "five"},
      {"5 apples", "5 apples"},
      {"1.2.3", "1.2.3"},
      {"--steps", "--steps"},
      {"nan", "nan"},
      {"inf", "inf"},
      {"!!str 5", "5"},
      {"!!str true", "true"},
      {"[1, \"1\", x]", {1, "1", "x"}},
      {"{a: 1, \"b\": two}", {{"a", 1}, {"b", "two"}}},
      {"18446744073709551615", 18446744073709551615ULL},
      {"|\n    5\n", "5\n"},
      {"é", "é"},
  };
  for (const auto& c : cases) {
    const json value = value_of(c.words);
    EXPECT_EQ(value, c.value) << c.words;
    EXPECT_EQ(value.is_string(), c.value.is_string()) << c.words;
  }
}

TEST_F(JobFileTest, AnchorsAndMergesOfPlainValuesWork) {
  EXPECT_EQ(value_of("[&a {x: 1}, *a]"), json::parse(R"([{"x":1},{"x":1}])"));
}

TEST_F(JobFileTest, AMissingFileIsASentence) {
  const auto job = read_job_file(folder_ / "none.yaml", {});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(job.error().message(),
            "there is no file " + (folder_ / "none.yaml").string() + ": give the path of a TrainingJob file");
}

TEST_F(JobFileTest, MistakesAreNamedWithTheirLine) {
  EXPECT_THAT(complaint(std::string(kJob) + "kind: Other\n"),
              EndsWith("job.yaml:14: key 'kind' is set twice"));
  EXPECT_THAT(complaint("apiVersion: x\n  kind: [\n"), HasSubstr("job.yaml:2: this is not YAML ("));
  EXPECT_THAT(complaint("a: 'open\n"), HasSubstr("job.yaml:"));
  EXPECT_THAT(complaint("a:\n\t- tab\n"), HasSubstr("job.yaml:2: "));
  EXPECT_THAT(complaint("? [complex, key]\n: 1\n"), HasSubstr("job.yaml:1: "));
  EXPECT_THAT(complaint("a: *nobody\n"), HasSubstr("job.yaml:1: "));
}

TEST_F(JobFileTest, AFieldThatNoTrainingJobHasIsNamedWithItsLine) {
  std::string text = kJob;
  text.insert(text.find("      template:"), "      replica: 3\n");
  EXPECT_EQ(complaint(text), path_.string() + ":9: spec.roles[0].replica is not a field of a TrainingJob; " +
                                 "did you mean replicas?");
}

TEST_F(JobFileTest, WhatIsNoTrainingJobIsRefusedWithTheField) {
  EXPECT_THAT(complaint("- a\n"), HasSubstr("job.yaml:1: expected a TrainingJob, with fields like"));
  EXPECT_THAT(complaint("just words\n"), HasSubstr("job.yaml:1: expected a TrainingJob, with fields like"));
  std::string text = kJob;
  text.replace(text.find("numNodes: 2"), 11, "numNodes: x");
  EXPECT_THAT(
      complaint(text),
      EndsWith("TrainingJob counter: spec.numNodes must be a whole number from 1 to 4096, found \"x\""));
  EXPECT_THAT(complaint(std::string(300, '\xff')), StartsWith(path_.string()));
}

TEST_F(JobFileTest, NestingAndMultiplyingAreBounded) {
  EXPECT_FALSE(read("a: " + std::string(100, '[') + std::string(100, ']')));
  EXPECT_FALSE(read("a: " + std::string(100'000, '[')));
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) laughs += ", " + before;
    laughs += "]\n";
  }
  EXPECT_THAT(complaint(laughs), HasSubstr("too many values"));
}

TEST_F(JobFileTest, AFolderAndAnEmptyFileAreNoJobs) {
  const auto of_folder = read_job_file(folder_.path(), {});
  ASSERT_FALSE(of_folder);
  EXPECT_EQ(of_folder.error().kind(), ErrorKind::kInvalid) << "trying again does not help";
  EXPECT_THAT(of_folder.error().message(), HasSubstr("Is a directory"));
  EXPECT_THAT(of_folder.error().message(), EndsWith("give the path of a TrainingJob file"));
  for (const char* nothing : {"", "# later\n", "---\n"})
    EXPECT_THAT(complaint(nothing), HasSubstr("job.yaml is empty: expected a TrainingJob")) << nothing;
}

TEST_F(JobFileTest, ComplaintsNameTheLine) {
  const auto with = [](const std::string& what, const std::string& instead) {
    std::string text = kJob;
    return text.replace(text.find(what), what.size(), instead);
  };
  const std::string path = path_.string();
  EXPECT_THAT(complaint(with("numNodes: 2", "numNodes: 0")), StartsWith(path + ":6: TrainingJob counter: "));
  EXPECT_THAT(complaint(with("numNodes: 2", "numNodes: -3")), StartsWith(path + ":6: "));
  EXPECT_THAT(complaint(with("name: worker", "name: Worker")), StartsWith(path + ":8: "));
  EXPECT_THAT(complaint(with("kind: TrainingJob", "kind: trainingjob")), StartsWith(path + ":2: "));
  EXPECT_THAT(complaint(with("command: [counter,", "args: [counter,")), StartsWith(path + ":12: "));
  EXPECT_THAT(complaint(with("name: counter", "name: spec").replace(0, 0, "\n") + "  suspend: 3\n"),
              StartsWith(path + ":15: "));
}

TEST_F(JobFileTest, AMissingFieldIsNamedWithTheLineOfItsParent) {
  std::string text = kJob;
  text.replace(text.find("name: worker\n      "), 19, "");
  EXPECT_THAT(complaint(text), StartsWith(path_.string() + ":8: "));
}

// A file that `kubectl get -o yaml` wrote has a status, and it is another run's.
TEST_F(JobFileTest, AStatusInTheFileIsNotObeyed) {
  const std::string stripped = read(kJob)->document->dump();
  for (const char* status : {"status: {phase: Succeeded, attempt: 7, restarts: 3}\n", "status: 7\n",
                             "status:\n  phase: Failed\n  message: somebody's\n  members: [1, 2]\n"}) {
    const auto job = read(std::string(kJob) + status);
    ASSERT_TRUE(job) << status << job.error().message();
    EXPECT_EQ(job->document->dump(), stripped) << status;
    EXPECT_EQ(job->status.phase, api::JobPhase::kPending);
    EXPECT_EQ(job->status.attempt, Attempt(0));
  }
}

TEST_F(JobFileTest, MoreArgumentsReachTheTrainerAsTheyAre) {
  const std::vector<std::string> more = {"[64,32]", "[]", "$(HOME)", "$$", "", "a b", "--", "{\"a\":1}"};
  const auto job = read(kJob, more);
  ASSERT_TRUE(job) << job.error().message();
  std::vector<std::string> got;
  for (const auto& word : job->spec.roles[0].command)
    got.push_back(api::expand_variables(word, {{"HOME", "/h"}}));
  EXPECT_EQ(std::vector<std::string>(got.end() - static_cast<std::ptrdiff_t>(more.size()), got.end()), more);
}

}  // namespace
}  // namespace ratoon::cli::job_file_test
