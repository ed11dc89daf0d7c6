#include "operator/api/trainer_environment.h"

#include <gtest/gtest.h>

namespace ratoon::api::trainer_environment_test {
namespace {

using Variables = std::map<std::string, std::string>;

TrainingJob job() {
  TrainingJob job;
  job.meta.name = "digits";
  return job;
}

TEST(TrainerEnvironment, SaysNoMoreThanThePolicy) {
  EXPECT_EQ(trainer_environment(job()), (Variables{{"RATOON_RUN_NAME", "digits"}}))
      << "a default here would override the options of the program";
}

TEST(TrainerEnvironment, SaysWhereToSaveAndToBegin) {
  TrainingJob told = job();
  told.spec.processes_per_node = 4;
  told.spec.checkpoint_policy = {.run_name = "first",
                                 .stores = {"s3://bucket/runs", "/mnt/runs"},
                                 .load_from = "/weights",
                                 .load_parts = "all",
                                 .staging_memory_mib = 1024,
                                 .grace_seconds = 60};
  const Variables variables = trainer_environment(told);
  EXPECT_EQ(variables.at("RATOON_RUN_NAME"), "first");
  EXPECT_EQ(variables.at("RATOON_STORES"), "s3://bucket/runs,/mnt/runs");
  EXPECT_EQ(variables.at("RATOON_LOAD_FROM"), "/weights");
  EXPECT_EQ(variables.at("RATOON_LOAD_PARTS"), "all");
  EXPECT_EQ(variables.at("RATOON_STAGING_MEMORY_MIB"), "256") << "of each process";
  EXPECT_EQ(variables.at("RATOON_GRACE_SECONDS"), "60");
  told.spec.checkpoint_policy.staging_memory_mib = 1;
  EXPECT_EQ(trainer_environment(told).at("RATOON_STAGING_MEMORY_MIB"), "1")
      << "0 would mean: as much as it likes";
}

TEST(TrainerEnvironment, SaysHowLongAndHowMany) {
  TrainingJob told = job();
  told.spec.max_duration = "90ep";
  told.spec.max_duration_seconds = 60;  // the operator's to watch
  told.spec.checkpoint_policy.interval_steps = 50;
  told.spec.checkpoint_policy.keep_last = "0";
  const Variables variables = trainer_environment(told);
  EXPECT_EQ(variables.at("RATOON_MAX_DURATION"), "90ep");
  EXPECT_EQ(variables.at("RATOON_SAVE_EVERY_STEPS"), "50");
  EXPECT_EQ(variables.at("RATOON_KEEP_LAST"), "0");
  told.spec.checkpoint_policy.keep_last = "all";
  EXPECT_EQ(trainer_environment(told).at("RATOON_KEEP_LAST"), "all");
}

TEST(TrainerEnvironment, SaysHowS3IsReached) {
  TrainingJob told = job();
  EXPECT_FALSE(trainer_environment(told).contains("AWS_ENDPOINT_URL_S3"));
  told.spec.checkpoint_policy.s3_endpoint = "https://minio:9000";
  told.spec.checkpoint_policy.s3_region = "eu-central-1";
  EXPECT_EQ(trainer_environment(told).at("AWS_ENDPOINT_URL_S3"), "https://minio:9000");
  EXPECT_EQ(trainer_environment(told).at("AWS_REGION"), "eu-central-1");
}

TEST(TrainerEnvironment, SaysWhatItsSamplesAre) {
  TrainingJob told = job();
  told.spec.data_policy.seed = 9007199254740991;
  Variables variables = trainer_environment(told);
  EXPECT_EQ(variables.at("RATOON_SEED"), "9007199254740991");
  EXPECT_FALSE(variables.contains("RATOON_GLOBAL_BATCH")) << "the program's own";
  told.spec.data_policy = {.seed = 0, .global_batch_size = 96};
  variables = trainer_environment(told);
  EXPECT_EQ(variables.at("RATOON_SEED"), "0") << "said, and no default";
  EXPECT_EQ(variables.at("RATOON_GLOBAL_BATCH"), "96") << "of all processes, however many there are";
}

TEST(TrainerEnvironment, OverwritingEndsWithTheFirstCheckpoint) {
  TrainingJob told = job();
  told.spec.checkpoint_policy.overwrites = true;
  EXPECT_FALSE(trainer_environment(told).contains("RATOON_OVERWRITE")) << "a job that began without the wish";
  told.status.first_own_attempt = Attempt(0);
  EXPECT_EQ(trainer_environment(told).at("RATOON_OVERWRITE"), "true");
  told.status.first_own_attempt = Attempt(4);
  EXPECT_EQ(trainer_environment(told).at("RATOON_OVERWRITE"), "true") << "lost before anything was saved";
  told.status.last_checkpoint = ResumePoint{.attempt = Attempt(4), .step = Step(10), .digest = "d"};
  EXPECT_FALSE(trainer_environment(told).contains("RATOON_OVERWRITE"));
}

}  // namespace
}  // namespace ratoon::api::trainer_environment_test
