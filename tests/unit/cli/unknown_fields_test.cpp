#include "cli/job/unknown_fields.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "cli/job/job_definition.h"

namespace ratoon::cli::unknown_fields_test {
namespace {

namespace fs = std::filesystem;

const YAML::Node& definition() {
  static const YAML::Node parsed = YAML::Load(job_definition());
  return parsed;
}

// The sentence about `document` by the definition of this build, or nothing.
std::string said(const std::string& document) {
  const auto found = find_unknown_field(YAML::Load(document), definition());
  return found ? found->sentence : "";
}

std::string not_one(const std::string& field, const std::string& rest) {
  return field + " is not a field of a TrainingJob; " + rest;
}

TEST(JobFieldsTest, TheDefinitionIsThatOfTheRepository) {
  std::ifstream in("crds/trainingjob.yaml");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), job_definition());
}

TEST(JobFieldsTest, NothingIsSaidOfTheSamples) {
  int samples = 0;
  for (const char* folder : {"crds/samples", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      for (const auto& document : YAML::LoadAllFromFile(entry.path().string())) {
        if (!document["kind"] || document["kind"].Scalar() != "TrainingJob") continue;
        ++samples;
        const auto found = find_unknown_field(document, definition());
        EXPECT_FALSE(found) << entry.path() << ": " << found->sentence;
      }
    }
  }
  EXPECT_GE(samples, 3);
}

TEST(JobFieldsTest, NothingIsSaidOfTheFileInTheDocumentation) {
  std::ifstream in("docs/reference/job.md");
  const std::string page(std::istreambuf_iterator<char>(in), {});
  const std::size_t begin = page.find("```yaml\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string file = page.substr(begin + 8, page.find("```", begin + 8) - begin - 8);
  EXPECT_NE(file.find("kind: TrainingJob"), std::string::npos);
  EXPECT_EQ(said(file), "");
}

TEST(JobFieldsTest, EveryPropertyOfTheSpecIsAFieldAndItsMisspellingIsNot) {
  const YAML::Node spec =
      definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  ASSERT_GE(spec.size(), 5u);
  for (const auto& property : spec) {
    const auto name = property.first.as<std::string>();
    EXPECT_EQ(said("spec: {" + name + ": 1}"), "");
    EXPECT_EQ(said("spec: {" + name + "z: 1}"), not_one("spec." + name + "z", "did you mean " + name + "?"));
  }
}

TEST(JobFieldsTest, TheNearestNameIsSuggested) {
  EXPECT_EQ(said("spec: {NumNodes: 1}"), not_one("spec.NumNodes", "did you mean numNodes?"));
  EXPECT_EQ(said("spec: {elastic: 1}"), not_one("spec.elastic", "did you mean elasticPolicy?"));
  EXPECT_EQ(said("spec: {role: []}"), not_one("spec.role", "did you mean roles?"));
  EXPECT_EQ(said("Kind: TrainingJob"), not_one("Kind", "did you mean kind?"));
  EXPECT_EQ(said("spec: {roles: [{name: a}, {replica: 1}]}"),
            not_one("spec.roles[1].replica", "did you mean replicas?"));
  EXPECT_EQ(said("spec: {checkpointPolicy: {keepLats: 1}}"),
            not_one("spec.checkpointPolicy.keepLats", "did you mean keepLast?"));
}

TEST(JobFieldsTest, ANameFromElsewhereIsSentThere) {
  EXPECT_EQ(said("spec: {maxRestarts: 3}"),
            not_one("spec.maxRestarts", "did you mean spec.restartPolicy.maxRestarts?"));
  EXPECT_EQ(said("spec: {replicas: 3}"), not_one("spec.replicas", "did you mean spec.roles[].replicas?"));
  EXPECT_EQ(
      said("spec: {roles: [{command: x}]}"),
      not_one("spec.roles[0].command", "did you mean spec.roles[].template.spec.containers[].command?"));
  EXPECT_EQ(said("numnodes: 3"), not_one("numnodes", "did you mean spec.numNodes?"));
}

TEST(JobFieldsTest, WhereNothingIsNearTheFieldsAreListed) {
  const std::string known =
      "its fields: rules, maxLossesWithoutStep, backoffSeconds, backoffMaxSeconds, maxRestarts";
  EXPECT_EQ(said("epochs: 3"), not_one("epochs", "its fields: apiVersion, kind, metadata, spec, status"));
  EXPECT_EQ(said("spec: {restartPolicy: {\"a\\x1bb\": 3}}"), not_one("spec.restartPolicy.a?b", known));
  EXPECT_EQ(said("spec: {restartPolicy: {" + std::string(300, 'x') + ": 3}}"),
            not_one("spec.restartPolicy." + std::string(64, 'x') + "...", known));
}

TEST(JobFieldsTest, WhatIsNotOursPasses) {
  EXPECT_EQ(said("metadata: {name: a, anything: {goes: here}}"), "");
  EXPECT_EQ(
      said("spec: {roles: [{template: {any: 1, spec: {hostIPC: true, containers: [{image: a, tty: 1}]}}}]}"),
      "");
  EXPECT_EQ(said("status: {written: by, an: operator}"), "");
  EXPECT_EQ(said("{kind: Job, spec: {parallelism: 1}}"), "");
  EXPECT_EQ(said("{apiVersion: ratoon.dev/v9, spec: {parallelism: 1}}"), "");
  EXPECT_EQ(said("{kind: [a, list], spec: {parallelism: 1}}"), "");
}

TEST(JobFieldsTest, ValuesOfAnotherShapeAreTheReadersConcern) {
  for (const char* text : {"", "words", "[a, b]", "spec: 5", "spec: [a]", "spec: {roles: {a: b}}",
                           "spec: {roles: [[a], 1, null]}", "spec: {numNodes: {a: 1}}"})
    EXPECT_EQ(said(text), "") << text;
}

TEST(JobFieldsTest, AnotherDefinitionKnowsOtherFields) {
  const auto other = YAML::Load(R"(
spec:
  group: example.com
  names: {kind: Train}
  versions:
    - name: v1
      schema: {openAPIV3Schema: {properties: {spec: {properties: {old: {}}}}}}
    - name: v2
      schema: {openAPIV3Schema: {properties: {kind: {}, apiVersion: {}, spec: {properties: {fresh: {}}}}}}
)");
  const auto found = find_unknown_field(
      YAML::Load("kind: Train\napiVersion: example.com/v2\nspec:\n  fresh: 1\n  old: 1\n"), other);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 5);
  EXPECT_EQ(found->sentence, "spec.old is not a field of a Train; its fields: fresh");
}

}  // namespace
}  // namespace ratoon::cli::unknown_fields_test
