#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <ratoon/failure.h>
#include <ratoon/torch/atomic_save.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::atomic_save_test {
namespace {

using ratoon::torch::atomic_save;

class AtomicSaveTest : public testing::Test {
 protected:
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      found.push_back(file.path().filename());
    return found;
  }
  using Names = std::vector<std::string>;

  test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "state.pt";
};

TEST_F(AtomicSaveTest, TorchLoadReadsTensors) {
  const at::Tensor saved = ::torch::arange(6).reshape({2, 3});
  atomic_save(saved, path_);
  at::Tensor loaded;
  ::torch::load(loaded, path_.string());
  EXPECT_TRUE(::torch::equal(loaded, saved));

  const std::vector<at::Tensor> list = {saved, ::torch::ones({4}), ::torch::tensor(2.5)};
  atomic_save(list, path_);
  std::vector<at::Tensor> back;
  ::torch::load(back, path_.string());
  ASSERT_EQ(back.size(), 3u);
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_TRUE(::torch::equal(back[i], list[i])) << i;
  EXPECT_EQ(names(), Names({"state.pt"}));
}

TEST_F(AtomicSaveTest, TorchLoadReadsModulesAndOptimizers) {
  ::torch::nn::Linear net(3, 2);
  ::torch::optim::Adam optimizer(net->parameters(), 0.1);
  net->forward(::torch::ones({1, 3})).sum().backward();
  optimizer.step();
  atomic_save(net, path_);  // the holder
  atomic_save(optimizer, folder_ / "optimizer.pt");

  ::torch::nn::Linear other(3, 2);
  ::torch::load(other, path_.string());
  EXPECT_TRUE(::torch::equal(other->weight, net->weight));
  ::torch::optim::Adam again(other->parameters(), 0.5);
  ::torch::load(again, (folder_ / "optimizer.pt").string());
  const auto& state = static_cast<const ::torch::optim::AdamParamState&>(*again.state().begin()->second);
  EXPECT_EQ(state.step(), 1);

  atomic_save(*net, path_);
  atomic_save(std::shared_ptr<::torch::nn::Module>(net.ptr()), path_);
  ::torch::load(other, path_.string());
  EXPECT_TRUE(::torch::equal(other->bias, net->bias));
}

TEST_F(AtomicSaveTest, ArchivesAndDictionariesComeBackByName) {
  ::torch::serialize::OutputArchive out;
  out.write("weight", ::torch::ones({2}));
  atomic_save(out, path_);
  ::torch::serialize::InputArchive in;
  in.load_from(path_.string());
  at::Tensor weight;
  in.read("weight", weight);
  EXPECT_TRUE(::torch::equal(weight, ::torch::ones({2})));

  atomic_save({{"net.weight", ::torch::ones({2})}, {"step", ::torch::tensor(17)}}, path_);
  const std::string text = test::read_text(path_);
  const auto read = ::torch::pickle_load({text.begin(), text.end()}).toGenericDict();
  EXPECT_EQ(read.size(), 2u);
  EXPECT_EQ(read.at("step").toTensor().item<int>(), 17);
  EXPECT_TRUE(::torch::equal(read.at("net.weight").toTensor(), ::torch::ones({2})));
}

TEST_F(AtomicSaveTest, TheBytesAreThoseOfTorchSave) {
  ::torch::nn::Linear net(3, 2);
  std::ostringstream theirs;
  ::torch::save(net, theirs);
  atomic_save(net, path_);
  EXPECT_EQ(test::read_text(path_).size(), theirs.str().size());
}

struct Unwilling : ::torch::nn::Module {
  void save(::torch::serialize::OutputArchive&) const override { throw std::runtime_error("not now"); }
};

TEST_F(AtomicSaveTest, OnFailureTheOldFileStandsAndNothingIsLeft) {
  atomic_save(::torch::ones({2}), path_);
  const std::string old = test::read_text(path_);
  EXPECT_THROW(atomic_save(Unwilling(), path_), std::runtime_error);
  EXPECT_EQ(test::read_text(path_), old);
  try {
    atomic_save(::torch::ones({2}), folder_ / "missing/state.pt");
    ADD_FAILURE() << "saved into a folder that is not there";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 84);
    EXPECT_THAT(failure.what(), testing::HasSubstr("missing"));
  }
  EXPECT_EQ(names(), Names({"state.pt"}));
}

// As on a disk that becomes full in the middle of the file. torch::save ends the process in this case, in a
// destructor.
TEST_F(AtomicSaveTest, AFileThatCannotGrowIsAFailureAndTheOldOneStands) {
  atomic_save(::torch::ones({2}), path_);
  const std::string old = test::read_text(path_);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(atomic_save(::torch::ones({1'000'000}), path_), Failure);
  EXPECT_THROW(atomic_save({{"large", ::torch::ones({1'000'000})}}, path_), Failure);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(test::read_text(path_), old);
  EXPECT_EQ(names(), Names({"state.pt"}));
}

// The process is killed at random times: torch.save to one name leaves a file that no program can read.
TEST_F(AtomicSaveTest, KilledWhileItSavesItLeavesAWholeFileAndTheNextCallCleansUp) {
  const std::vector<at::Tensor> tensors = {::torch::zeros({100'000}), ::torch::ones({100'000})};
  atomic_save(tensors, path_);
  for (int turn = 0; turn < 20; ++turn) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) atomic_save(tensors, path_);
    }
    ::poll(nullptr, 0, 1 + turn / 2);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::vector<at::Tensor> back;
    ASSERT_NO_THROW(::torch::load(back, path_.string())) << turn;
    ASSERT_TRUE(back.size() == 2 && ::torch::equal(back[1], tensors[1])) << turn;
  }
  atomic_save(tensors, path_);
  EXPECT_EQ(names(), Names({"state.pt"}));
}

}  // namespace
}  // namespace ratoon::atomic_save_test
