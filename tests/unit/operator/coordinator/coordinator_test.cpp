// The coordinator over real HTTP on loopback. Its clock stands still unless a test moves it.
#include "operator/coordinator/coordinator.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/support/raw_socket.h"
#include "tests/unit/operator/coordinator/coordinator_over_http.h"

namespace ratoon::coordinator::coordinator_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_over_http;

class CoordinatorTest : public CoordinatorOverHttp {};

// A world's seats come without a secret: it is drawn when the attempt is first announced.
TEST_F(CoordinatorTest, AllOfAnAttemptGetOneSecretHoweverLateTheyAsk) {
  const auto world = [](std::uint64_t attempt) {
    return std::vector{test::seat(test::process(0), 0, attempt), test::seat(test::process(1), 1, attempt)};
  };
  const auto secret_of = [](const Answer& answer) {
    const auto reply = decode<JoinReply>(answer.body);
    EXPECT_TRUE(reply && reply->assignment) << answer.body;
    return reply && reply->assignment ? reply->assignment->secret : std::string();
  };
  const std::vector current = {test::process(0), test::process(1)};
  announce(1, current);
  auto first = join(test::join_request(test::process(0)));
  wait_until_heard(test::process(0));
  announce(1, current, world(1));
  const std::string secret = secret_of(first.get());
  EXPECT_EQ(secret.size(), 2 * kSecretBytes);
  for (const auto& seat : coordinator_.world(test::job_key())) EXPECT_EQ(seat.assignment.secret, secret);

  // The loop decides on the facts that it was given; it may announce the same decision twice.
  announce(1, current, coordinator_.world(test::job_key()));
  announce(1, current, world(1));
  EXPECT_EQ(secret_of(join(test::join_request(test::process(1))).get()), secret);

  announce(2, current, world(2));
  const std::string next = secret_of(join(test::join_request(test::process(0), 1)).get());
  EXPECT_EQ(next.size(), 2 * kSecretBytes);
  EXPECT_NE(next, secret);
}

TEST_F(CoordinatorTest, WithoutASecretNoSeatIsHandedOut) {
  Coordinator coordinator(clock_, {.authenticate = {}, .on_change = {}, .draw = [] {
                                     return Result<std::string>(Error(ErrorKind::kIo, "no random numbers"));
                                   }});
  coordinator.announce(
      test::job_key(),
      {.attempt = Attempt(1), .world = {test::seat(test::process(0), 0)}, .current = {test::process(0)}});
  EXPECT_TRUE(coordinator.world(test::job_key()).empty()) << "the loop takes it for forgotten";
}

TEST_F(CoordinatorTest, AJoinIsAnsweredWhenItsWorldIsAnnounced) {
  announce(1, {process(0), process(1)});
  auto first = join(test::join_request(process(0)));
  auto second = join(test::join_request(process(1)));
  wait_until_heard(process(0));
  wait_until_heard(process(1));
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
  while (news_ < 2) std::this_thread::yield();  // the loop hears of a join just after the join is known
  EXPECT_EQ(news_, 2);

  announce(1, {process(0), process(1)}, {test::seat(process(0), 0), test::seat(process(1), 1)});
  const auto world = coordinator_.world(test::job_key());  // with its secret
  EXPECT_EQ(first.get().as<JoinReply>().assignment, world[0].assignment);
  EXPECT_EQ(second.get().as<JoinReply>().assignment, world[1].assignment);
  EXPECT_EQ(coordinator_.world(test::job_key()).size(), 2u);
}

TEST_F(CoordinatorTest, AJoinWhoseReplyWasLostGetsTheSameSeatAgainAtOnce) {
  announce(1, {process(0)}, {test::seat(process(0), 0, 1, 1)});
  const auto world = coordinator_.world(test::job_key());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(join(test::join_request(process(0))).get().as<JoinReply>().assignment, world[0].assignment);
}

// The agent gave up on the first call and asks again; the server does not know yet that no reader is left for
// the first call.
TEST_F(CoordinatorTest, TheNewestOfTwoJoinsOfOneProcessGetsTheSeat) {
  announce(1, {process(0)});
  auto given_up = join(test::join_request(process(0)));
  wait_until_heard(process(0));
  auto asked_again = join(test::join_request(process(0)));
  EXPECT_NE(given_up.get().status, 200);
  announce(1, {process(0)}, {test::seat(process(0), 0, 1, 1)});
  EXPECT_TRUE(asked_again.get().as<JoinReply>().assignment.has_value());
}

TEST_F(CoordinatorTest, AJoinIsHeldOnlySoLongAndThenToldWhatIsMissing) {
  announce(1, {process(0), process(1)});
  auto held = join(test::join_request(process(0)));
  wait_until_heard(process(0));
  clock_.advance(19s);
  EXPECT_EQ(held.wait_for(250ms), std::future_status::timeout);
  clock_.advance(1s);
  EXPECT_EQ(held.get().as<JoinReply>().waiting_for, "1 of 2 processes are ready");
}

TEST_F(CoordinatorTest, AJoinOfAJobThatIsOverIsRefusedAtOnce) {
  coordinator_.announce(test::job_key(), {.attempt = Attempt(1), .stop = true, .reason = "completed"});
  const auto answer = join(test::join_request(process(0))).get();
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.as<Refusal>().kind, "finished");
  EXPECT_FALSE(waits(process(0)));
}

TEST_F(CoordinatorTest, ACallThatNobodyListensToAnyMoreTakesNoSeat) {
  announce(1, {process(0), process(1)});
  const auto request = test::join_request(process(0));
  auto another = join(test::join_request(process(1)));
  wait_until_heard(process(1));
  std::stop_source hangs_up;
  auto given_up = std::async(std::launch::async, [&] {
    return post(names::route::kJoin, encode(request), "secret", 2min, "POST", hangs_up.get_token());
  });
  wait_until_heard(process(0));
  hangs_up.request_stop();
  EXPECT_EQ(given_up.get().status, 0);
  // Each new announcement examines all parked calls, and these change nothing for the waiting ones.
  std::vector current = {process(0), process(1)};
  while (coordinator_.load().parked > 1) {
    std::ranges::reverse(current);
    announce(1, current);
    std::this_thread::yield();
  }
  EXPECT_EQ(another.wait_for(0s), std::future_status::timeout) << "those that listen wait on";
  announce(1, {process(0), process(1)}, {test::seat(process(0), 0), test::seat(process(1), 1)});
  EXPECT_TRUE(waits(process(0))) << "the seat went to a closed connection";
  EXPECT_TRUE(join(request).get().as<JoinReply>().assignment.has_value());
}

TEST_F(CoordinatorTest, OrdersAreHeldUntilThereAreNewOnes) {
  announce(1, {process(0)});
  const auto first = orders(process(0), 0).get().as<Orders>();
  EXPECT_EQ(first.attempt, Attempt(1));
  auto held = orders(process(0), first.revision);
  EXPECT_EQ(held.wait_for(250ms), std::future_status::timeout);
  announce(2, {process(0)});
  const auto second = held.get().as<Orders>();
  EXPECT_EQ(second.attempt, Attempt(2));
  EXPECT_GT(second.revision, first.revision);
}

// The next operator may have announced as many orders, and not the same ones.
TEST_F(CoordinatorTest, OrdersOfAnotherOperatorAreNews) {
  announce(1, {process(0)});
  const auto first = orders(process(0), 0).get().as<Orders>();
  coordinator_.close(test::job_key());
  clock_.advance(1s);
  announce(2, {process(0)});
  const auto second = orders(process(0), first.revision).get().as<Orders>();
  EXPECT_EQ(second.attempt, Attempt(2));
  EXPECT_GT(second.revision, first.revision);
}

TEST_F(CoordinatorTest, OrdersThatAreNotNewAreRepeatedAfterAWhile) {
  announce(1, {process(0)});
  const auto first = orders(process(0), 0).get().as<Orders>();
  auto held = orders(process(0), first.revision);
  while (coordinator_.load().parked == 0) std::this_thread::yield();
  EXPECT_EQ(coordinator_.load().messages, 2u);
  clock_.advance(20s);
  EXPECT_EQ(held.get().as<Orders>(), first);
  EXPECT_EQ(coordinator_.load().parked, 0u);
}

TEST_F(CoordinatorTest, AReplacedIncarnationIsRefusedEverywhereAndItsPollsEnd) {
  announce(1, {process(0)});
  auto parked_join = join(test::join_request(process(0)));
  auto parked_orders = orders(process(0), orders(process(0), 0).get().as<Orders>().revision);
  wait_until_heard(process(0));
  announce(2, {process(0, 1)});
  EXPECT_EQ(parked_join.get().as<Refusal>().kind, "superseded");
  EXPECT_EQ(parked_orders.get().as<Refusal>().kind, "superseded");
  EXPECT_EQ(beat(test::beat(process(0), 1, 5)).status, 409);
  EXPECT_EQ(join(test::join_request(process(0))).get().status, 409);
  EXPECT_EQ(post(names::route::kCompleted, encode(test::completed(process(0), 1, 5))).status, 409);
  EXPECT_TRUE(coordinator_.processes(test::job_key()).empty());
}

// With room for one unauthenticated connection, each new one closes the one before.
TEST_F(CoordinatorTest, AMembersTokenAuthenticatesAConnectionAndAnotherOneDoesNot) {
  using http::testing::RawSocket;
  serve({.unauthenticated_connections_max = 1});
  announce(1, {process(0)});
  auto waiting = join(test::join_request(process(0)));
  wait_until_heard(process(0));
  auto guessing = RawSocket::connect_to(server_->port());
  const std::string body = encode(test::beat(process(0), 1, 5));
  guessing.send("POST /v1/beat HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer guess\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_TRUE(guessing.read_until("\r\n\r\n").starts_with("HTTP/1.1 401"));
  const auto silent = RawSocket::connect_to(server_->port());
  guessing.read_to_end(60s);  // an idle connection ends later
  EXPECT_TRUE(guessing.has_ended());
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  announce(1, {process(0)}, {test::seat(process(0), 0)});
  EXPECT_EQ(waiting.get().status, 200);
}

TEST_F(CoordinatorTest, RefusalsNameTheirReason) {
  announce(1, {process(0)});
  const std::string sound = encode(test::beat(process(0), 1, 5));
  ProcessIdentity stranger = process(0);
  stranger.job.name = "other";
  const struct {
    const char* name;
    Answer answer;
    int status;
    const char* kind;
    std::string sentence;
  } cases[] = {
      {"wrong token", post(names::route::kBeat, sound, "guess"), 401, "unauthorized",
       "the token belongs to another run"},
      {"a local rank that no job has", join(test::join_request(process(0, 0, 64))).get(), 401, "unauthorized",
       "local ranks of digits-worker-0-i0 must be below 64 (processesPerNode), but a process with local rank "
       "64 called: start as many processes as the job says, or raise processesPerNode"},
      {"unknown job", post(names::route::kBeat, encode(test::beat(stranger, 1, 5))), 404, "unknown_job",
       "no TrainingJob default/other is served by this operator"},
      {"no message", post(names::route::kBeat, "{}"), 422, "bad_message",
       "version must be a whole number from 0 to 9007199254740991, found nothing"},
      {"another message", post(names::route::kJoin, sound), 422, "bad_message",
       "processes_per_node must be a whole number from 0 to 65536, found nothing"},
      {"much that is no JSON", post(names::route::kBeat, "\"" + std::string(50'000, '\xc3')), 422,
       "bad_message", ""},
      {"no such route", post("/v1/leave", sound), 404, "bad_message",
       "the coordinator has no route /v1/leave"},
      {"another method", post(names::route::kBeat, "", "secret", 10s, "GET"), 405, "bad_message",
       "/v1/beat accepts only POST, not GET"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.answer.status, c.status) << c.answer.body;
    const auto refusal = c.answer.as<Refusal>();
    EXPECT_EQ(refusal.kind, c.kind);
    EXPECT_TRUE(c.sentence.empty() || refusal.message == c.sentence) << refusal.message;
  }
  EXPECT_TRUE(coordinator_.processes(test::job_key()).empty()) << "who was refused was not heard";
}

TEST_F(CoordinatorTest, ABeatIsNewsWhenItIsTheFirstAndWhenSomethingWasCommitted) {
  announce(1, {process(0)});
  EXPECT_EQ(beat(test::beat(process(0), 1, 5, 1)).as<Orders>().attempt, Attempt(1));
  EXPECT_EQ(news_, 1);
  beat(test::beat(process(0), 1, 6, 2, test::checkpoint(1, 5)));
  EXPECT_EQ(news_, 2);
  beat(test::beat(process(0), 1, 7, 3, test::checkpoint(1, 5)));
  EXPECT_EQ(news_, 2);
}

TEST_F(CoordinatorTest, CompletionIsNewsAndIsRemembered) {
  announce(1, {process(0)});
  coordinator_.announce(test::job_key(),
                        {.attempt = Attempt(1), .current = {process(0)}, .processes_per_node = 1});
  const auto answer = post(names::route::kCompleted, encode(test::completed(process(0), 1, 400)));
  EXPECT_EQ(answer.as<Orders>().attempt, Attempt(1));
  EXPECT_EQ(news_, 1);
  EXPECT_TRUE(coordinator_.processes(test::job_key()).at(0).is_completed);
}

// A new operator has only the job's status: a process of several in a pod, whose record is of the first one
// alone, must not leave before the status says that it is done.
TEST_F(CoordinatorTest, CompletionIsAnsweredOnceItIsRecorded) {
  api::Announcement told{.attempt = Attempt(1), .current = {process(0)}, .processes_per_node = 2};
  coordinator_.announce(test::job_key(), told);
  auto answer = completed(process(0));
  news_.wait(0);
  told.done = {{.member_uid = process(0).member_uid, .local_ranks = 2}};
  coordinator_.announce(test::job_key(), told);
  EXPECT_EQ(answer.wait_for(0s), std::future_status::timeout) << "that was another local rank";
  told.done = {{.member_uid = process(0).member_uid, .local_ranks = 1}};
  coordinator_.announce(test::job_key(), told);
  EXPECT_EQ(answer.get().as<Orders>().attempt, Attempt(1));
}

TEST_F(CoordinatorTest, CompletionThatCannotBeRecordedIsAnsweredInTheEnd) {
  announce(1, {process(0)});
  auto answer = completed(process(0));
  news_.wait(0);
  clock_.advance(20s);
  EXPECT_EQ(answer.get().as<Orders>().attempt, Attempt(1));
}

TEST_F(CoordinatorTest, AfterAStallEverybodyGetsAFreshStart) {
  announce(1, {process(0)});
  const auto since = [this] { return coordinator_.listening_since(test::job_key()); };
  EXPECT_EQ(since(), test::at_seconds(1000));
  clock_.advance(5s);
  const Timestamp first = since();
  EXPECT_GE(first, test::at_seconds(1005)) << "also who asks before the timekeeper does";
  const auto give_up = std::chrono::steady_clock::now() + 2min;
  Timestamp told = first;
  for (clock_.advance(1us); told != since() && std::chrono::steady_clock::now() < give_up;
       clock_.advance(1us))
    told = since();
  EXPECT_EQ(told, since()) << "from the stall's end on, time passes in which all were listened to";
}

// The wall clock goes on while the machine sleeps, and the steady clock stands.
class ClockOfASleeper final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return {awake_.load()}; }
  [[nodiscard]] WallTime wall_now() const override { return {awake_.load() + asleep_.load()}; }
  void pass(Duration time) { awake_ = awake_.load() + time; }
  void sleep(Duration time) { asleep_ = asleep_.load() + time; }

 private:
  std::atomic<Duration> awake_{Duration(1000s)};
  std::atomic<Duration> asleep_{Duration(0)};
};

TEST(CoordinatorOfASleeper, AfterItsMachineSleptEverybodyGetsAFreshStart) {
  ClockOfASleeper clock;
  const auto admit = [](std::string_view, const ProcessIdentity&) { return Result<void>(); };
  Coordinator coordinator(clock, {.authenticate = admit, .on_change = [](const JobKey&) {}});
  coordinator.announce(test::job_key(), {.attempt = Attempt(1), .current = {process(0)}});
  clock.pass(900ms);
  EXPECT_EQ(coordinator.listening_since(test::job_key()), test::at_seconds(1000));
  clock.sleep(10min);
  EXPECT_EQ(coordinator.listening_since(test::job_key()), test::at_seconds(1000.9));
}

// A standby has run for hours when it takes over, and no member could have sent it a message.
TEST_F(CoordinatorTest, NoProcessIsHeardBeforeTheJobIsAnnounced) {
  clock_.advance(900ms);
  EXPECT_EQ(coordinator_.listening_since(test::job_key()), test::at_seconds(1000.9));
  announce(1, {process(0)});
  clock_.advance(50ms);
  EXPECT_EQ(coordinator_.listening_since(test::job_key()), test::at_seconds(1000.9));
}

TEST_F(CoordinatorTest, AJobThatIsClosedIsUnknown) {
  announce(1, {process(0)});
  auto parked = join(test::join_request(process(0)));
  wait_until_heard(process(0));
  coordinator_.close(test::job_key());
  EXPECT_NE(parked.get().status, 200) << "nobody waits for ever";
  EXPECT_EQ(beat(test::beat(process(0), 1, 5)).status, 404);
}

}  // namespace
}  // namespace ratoon::coordinator::coordinator_test
