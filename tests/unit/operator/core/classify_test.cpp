#include "operator/core/loss/classify.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::core::classify_test {
namespace {

TEST(Classify, ReadsTheExitCode) {
  struct Case {
    int exit_code;
    EndCause cause;
    const char* sentence;
  };
  const Case cases[] = {
      {0, EndCause::kApplication,
       "exit code 0 without a completion record: its training did not reach its end; a program that does not "
       "call ratoon::train needs a TrainingJob with agent: None"},
      {1, EndCause::kApplication, "exit code 1"},
      {79, EndCause::kApplication, "exit code 79"},
      {80, EndCause::kDisruption, "exit code 80 (left on request)"},
      {81, EndCause::kDisruption, "exit code 81 (asks for a fresh start)"},
      {82, EndCause::kFatal, "exit code 82 (configuration): the same start would fail again"},
      {83, EndCause::kFatal, "exit code 83: checkpoints exist and none is good"},
      {84, EndCause::kDisruption, "exit code 84 (storage failed)"},
      {85, EndCause::kDisruption, "exit code 85 (its accelerator is unusable)"},
      {86, EndCause::kDisruption, "exit code 86 (aborted collectives did not end)"},
      {87, EndCause::kApplication, "exit code 87"},
      {127, EndCause::kApplication, "exit code 127"},
      {128, EndCause::kApplication, "exit code 128"},
      {130, EndCause::kDisruption, "ended by signal 2"},
      {134, EndCause::kApplication, "crashed with signal 6"},
      {137, EndCause::kDisruption, "ended by signal 9"},
      {139, EndCause::kApplication, "crashed with signal 11"},
      {143, EndCause::kDisruption, "ended by signal 15"},
  };
  for (const auto& c : cases) {
    const MemberEnd ending = classify(test::ended_pod(0, c.exit_code), false);
    EXPECT_EQ(ending.cause, c.cause) << c.exit_code;
    EXPECT_EQ(ending.explanation, c.sentence);
  }
}

TEST(Classify, AContainerThatDoesNotStartIsToldInTheRuntimesWords) {
  api::Pod pod = test::ended_pod(0, 128);
  pod.end_reasons = {"StartError"};
  pod.last_lines = "exec: \"digitz\": executable file not found in $PATH";
  EXPECT_EQ(classify(pod, false).cause, EndCause::kApplication);
  EXPECT_EQ(classify(pod, false).explanation,
            "its container did not start: exec: \"digitz\": executable file not found in $PATH");
}

MemberEnd ending_of_unstarted(const std::string& words) {
  api::Pod pod = test::ended_pod(0, 128);
  pod.end_reasons = {"StartError"};
  pod.last_lines = words;
  return classify(pod, false);
}

TEST(Classify, WhereTheRuntimeCouldNotRunTheProgramTheProgramFailed) {
  for (const char* words : {"exec: \"digitz\": executable file not found in $PATH",
                            "unable to start container process: exec: \"/bin/digits\": stat /bin/digits: no "
                            "such file or directory",
                            "exec: \"/etc/passwd\": permission denied", "exec /bin/digits: exec format error",
                            "exec: \"/bin\": is a directory",
                            "chdir to cwd (\"/wokr\") set in config.json failed: no such file or directory",
                            "executable file `digitz` not found in $PATH: No such file or directory",
                            "open executable: Permission denied"}) {
    EXPECT_EQ(ending_of_unstarted(words).cause, EndCause::kApplication) << words;
    EXPECT_FALSE(ending_of_unstarted(words).is_kubelet_rejection) << words;
  }
}

TEST(Classify, WhereItsNodeCouldNotStartAContainerNoProgramFailed) {
  for (const char* words :
       {"error mounting \"/var/lib/kubelet/pods/1/volumes/data\" to rootfs: stat: no such file or directory",
        "failed to create shim task: context deadline exceeded", "no space left on device",
        "error running prestart hook #0: nvidia-container-cli: initialization error: nvml error",
        "unable to apply cgroup configuration: open /sys/fs/cgroup/a: permission denied", ""}) {
    const MemberEnd ending = ending_of_unstarted(words);
    EXPECT_EQ(ending.cause, EndCause::kDisruption) << words;
    EXPECT_TRUE(ending.is_kubelet_rejection && ending.is_platform_caused) << words;
    EXPECT_EQ(ending.explanation, "its container did not start: " + std::string(words));
  }
}

// After a reset of its node, containerd and the kubelet report this for each container on it.
TEST(Classify, AnEndThatTheRuntimeDoesNotKnowIsADisruption) {
  api::Pod pod = test::ended_pod(0, 255);
  EXPECT_EQ(classify(pod, false).cause, EndCause::kApplication) << "a program may end with it";
  pod.end_reasons = {"Unknown"};
  EXPECT_EQ(classify(pod, false).cause, EndCause::kDisruption);
  EXPECT_EQ(classify(pod, false).explanation,
            "its container runtime reports no cause (exit code 255, Unknown): its node was reset");
  pod.exit_code = 1;
  EXPECT_EQ(classify(pod, false).cause, EndCause::kApplication);
}

// It is not one of our programs: its codes mean nothing, and its end would recur.
TEST(Classify, AnInitContainerThatFailsIsAFailure) {
  api::Pod pod = test::ended_pod(0, 1);
  pod.failed_init_container = "fetch";
  for (const int code : {1, 80, 81, 82, 83, 84, 85, 86}) {
    pod.exit_code = code;
    EXPECT_EQ(classify(pod, false).cause, EndCause::kApplication) << code;
    EXPECT_EQ(classify(pod, false).explanation,
              "its init container fetch failed: exit code " + std::to_string(code));
  }
  pod.exit_code = 137;
  EXPECT_EQ(classify(pod, false).cause, EndCause::kDisruption) << "somebody outside ended it";
  pod.end_reasons = {"OOMKilled"};
  EXPECT_EQ(classify(pod, false).cause, EndCause::kApplication);
  pod.is_evicted = true;
  EXPECT_EQ(classify(pod, false).cause, EndCause::kDisruption);
}

TEST(Classify, ACompletionRecordOutweighsEveryExitCode) {
  for (const int code : {0, 1, 82, 137}) {
    EXPECT_EQ(classify(test::ended_pod(0, code), true).cause, EndCause::kCompleted);
  }
}

TEST(Classify, ADeletedPodWasDisruptedWhateverItsProcessesSaid) {
  api::Pod pod = test::ended_pod(0, 1);
  pod.is_deleting = true;
  EXPECT_EQ(classify(pod, false).cause, EndCause::kDisruption);
  EXPECT_EQ(classify(pod, false).explanation, "deleted");
}

TEST(Classify, APodThatEndedWithoutACodeWasDisrupted) {
  api::Pod pod = test::pod(0);
  pod.phase = api::PodPhase::kFailed;
  EXPECT_EQ(classify(pod, false).cause, EndCause::kDisruption);
}

}  // namespace
}  // namespace ratoon::core::classify_test
