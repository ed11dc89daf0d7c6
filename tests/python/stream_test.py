"""ratoon.Stream: the same order as in C++, positions, parts of ranks, and what is refused."""
import json
import os
import unittest

import ratoon


def digits(**changes):
    return ratoon.Stream(**{"samples": 60_000, "global_batch": 256, "seed": 17, "source": "digits", **changes})


def samples(slots):
    return [slot.sample for slot in slots]


class Order(unittest.TestCase):
    def test_it_is_that_of_cpp(self):
        """The numbers of tests/unit/agent/data/order/permutation_test.cpp."""
        third_epoch = digits().slots(range(180_000, 240_000))
        self.assertEqual([third_epoch[place].sample for place in (0, 1, 2, 3, 30_000, 59_999)],
                         [18757, 4596, 53755, 17680, 28595, 27163])

    def test_an_epoch_has_each_sample_once(self):
        stream = digits(samples=1000, global_batch=64, epoch_end="short")
        taken = []
        while stream.epoch == 0:
            taken += samples(stream.take())
        self.assertEqual(sorted(taken), list(range(1000)))
        self.assertEqual((stream.batches, stream.batches_per_epoch, stream.cursor), (16, 16, 1000))

    def test_parts_of_ranks_are_the_batch_in_any_world(self):
        whole = digits().take()
        for world_size in (1, 3, 7, 300):
            parts = [digits().take(rank, world_size) for rank in range(world_size)]
            self.assertEqual([slot for part in parts for slot in part], whole)
            weights = [ratoon.share_weight(range(0, 256), rank, world_size) for rank in range(world_size)]
            self.assertAlmostEqual(sum(weights), 1)

    def test_blocks_and_mixtures(self):
        blocks = ratoon.Stream(sources=[ratoon.Source("b", shards=[10] * 20)], global_batch=10, order="blocks",
                               window_shards=2)
        first = [blocks.take() for _ in range(2)]
        self.assertLessEqual(len({slot.sample // 10 for part in first for slot in part}), 2)
        mixture = ratoon.Stream(global_batch=65536, sources=[ratoon.Source("web", 90_000, weight=0.7),
                                                            ratoon.Source("books", 400, weight=0.3)])
        self.assertEqual(sum(slot.source for slot in mixture.take()), mixture.weights[1])
        self.assertEqual([account.drawn for account in mixture.accounts], mixture.weights)
        self.assertEqual(mixture.weights, [45875, 19661])

    def test_a_place_of_each_sample_is_known(self):
        stream = digits()
        slot = stream.slot_of(3, 18757)
        self.assertEqual((slot, stream.at(slot).epoch, stream.batch_with(slot)), (180_000, 3, 703))
        self.assertIn(slot, stream.batch(703))
        self.assertIsNone(ratoon.Stream(samples=10, global_batch=4, epoch_end="drop").batch_with(9))


class Position(unittest.TestCase):
    def test_resumed_is_unbroken(self):
        unbroken = digits()
        taken = [unbroken.take() for _ in range(300)]
        resumed = digits()
        for number in range(300):
            self.assertEqual(resumed.take(), taken[number])
            state, resumed = resumed.save_state(), digits()
            resumed.load_state(state)
        self.assertEqual((resumed.digest, resumed.save_state()), (unbroken.digest, unbroken.save_state()))

    def test_the_state_is_json_and_a_dict_of_one_text(self):
        stream = digits()
        stream.advance(3)
        json.loads(stream.save_state())
        self.assertEqual(stream.state_dict(), {"stream": stream.save_state()})
        other = digits()
        other.load_state_dict(json.loads(json.dumps(stream.state_dict())))
        self.assertEqual((other.cursor, other.batches), (768, 3))

    def test_plans_change_on_the_way(self):
        stream = digits()
        stream.advance(2)
        stream.change_global_batch(100)
        self.assertEqual(stream.next_batch(), range(512, 612))
        stream.skip_to(1000)
        self.assertEqual((stream.cursor, stream.batch(0), stream.global_batch), (1000, range(0, 256), 100))

    def test_a_forked_child_has_a_copy(self):
        stream = digits()
        child = os.fork()
        if child == 0:
            stream.advance(5)
            os._exit(stream.batches)
        self.assertEqual((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), stream.batches), (5, 0))


class Refusals(unittest.TestCase):
    def refused(self, call, *words):
        with self.assertRaises(ratoon.RatoonError) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(caught.exception.exit_code, 82)

    def test_a_state_of_another_run_is_refused_and_changes_nothing(self):
        state = digits().save_state()
        for changes, words in (({"seed": 18}, ("17", "18")), ({"samples": 50_000}, ("60000", "50000")),
                               ({"global_batch": 128}, ("256", "128")), ({"source": "letters"}, ("digits", "letters"))):
            other = digits(**changes)
            before = other.save_state()
            self.refused(lambda: other.load_state(state), *words)
            self.assertEqual(other.save_state(), before)

    def test_an_accepted_difference_is_kept(self):
        stream = digits(global_batch=128)
        stream.accept(global_batch=True)
        stream.load_state(digits().save_state())
        self.assertEqual([(one.was, one.is_now) for one in stream.accepted], [("256", "128")])

    def test_arguments(self):
        self.refused(lambda: digits(order="sorted"), "sorted", "shuffled, blocks, in-order")
        self.refused(lambda: digits(epoch_end="pad"), "pad", "carry, short, drop")
        self.refused(lambda: digits(samples=0))
        self.refused(lambda: digits().load_state("{"))
        self.refused(lambda: digits().load_state_dict({"cursor": 3}), "state_dict")
        self.refused(lambda: digits().slots(range(0, 10, 2)), "step 1")
        self.refused(lambda: ratoon.share_of(range(0, 10), 3, 3), "3")
        self.refused(lambda: digits().advance_to(3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
