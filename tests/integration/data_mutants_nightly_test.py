"""Mutants of what a run trains with: the order of samples, data sets and the data loader. With one rule of it broken a unit test
must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

CONTRACT = "base/contract/"
LOADER = "agent/src/data/loader/"
ORDER = "agent/src/data/order/"
SETS = "agent/src/data/sets/"


def of_loader(tests):
    return "data_loader_test", tests


def of_order(tests):
    return "order_test", tests


def of_sets(tests):
    return "data_sets_test", tests


def of_torch_order(tests):
    return "torch_order_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a batch that is given before an earlier one": (
        of_loader("ReadingAhead.*:DataLoader.*:LoaderResume.*"), LOADER + "batch_prefetcher.cpp",
        r"const std::shared_ptr<RingCell> head = ring_\.front\(\);\n  if \(head->failure != nullptr\) \{",
        "std::swap(ring_.front(), *std::find_if(ring_.rbegin(), ring_.rend(), [](const auto& cell) { return cell->state == "
        "State::kMade; }));\n  const std::shared_ptr<RingCell> head = ring_.front();\n  if (head->failure != nullptr) {"),
    "a failure that costs its batch": (
        of_loader("*Failures.*"), LOADER + "batch_prefetcher.cpp",
        r"ring_\.front\(\) = make_ring_cell\(loader_plan_, head->batch_maker->index\(\)\);\n    "
        r"ring_\.front\(\)->batch_maker->take_over_read_hints\([^;]*;",
        "ring_.push_back(make_ring_cell(loader_plan_, next_batch_index_++));\n    ring_.pop_front();"),
    "a failure that names another sample": (
        of_loader("*Failures.*"), LOADER + "sample_failure.cpp", r"std::to_string\(slot\.sample\)",
        "std::to_string(slot.sample + 1)"),
    "a last batch of an epoch that is cut short and takes the next one's": (
        of_order("Batches.*:Stream.*"), ORDER + "batch_rule.cpp",
        r"epoch_end == EpochEnd::kShort \? std::min\(global_batch, slots_left_in_epoch\(slot\)\) : global_batch", "global_batch"),
    "batches to a place that count the one before it": (
        of_order("Batches.*:Plan.*"), ORDER + "batch_rule.cpp", r"return batches_in\(left\) \+ beyond / epoch_slots",
        "return ceil_divide(left, global_batch) + beyond / epoch_slots"),
    "a window of shards in which each epoch has the same order": (
        of_order("Blocks.*"), ORDER + "block_order.cpp", r"mix_into\(window_key_, window\.number\)",
        "mix_into(0, window.number)"),
    "a source so rare that it is never drawn": (
        of_order("Weights.*:Mixture.*"), ORDER + "mixture.cpp", r"shares\[i\] == 0 && parts\[i\] != 0", "false"),
    "a state of PyTorch's order that names every epoch's seed as that of the first": (
        of_torch_order("DistributedSampler.*:TorchStream.*"), ORDER + "torch/torch_epoch_order.cpp",
        r"seed \+ \(torch\.repeat_epoch_0 \? 0 : epoch\)", "seed"),
    "a multiple that is due a step late": (
        of_order("Schedule.*"), ORDER + "schedule.cpp", r"periods_elapsed\(after, period\) > periods_elapsed\(before, period\)",
        "periods_elapsed(after, period) > periods_elapsed(before, period) + (before % 2)"),
    "a sample of a joined set that is read from the part before": (
        of_sets("ConcatDataset.*"), SETS + "concat_dataset.cpp", r"std::upper_bound\(part_ends_", "std::lower_bound(part_ends_"),
    "a part of a data set whose digest does not say where it ends": (
        of_sets("SubsetDataset.*"), SETS + "subset_dataset.cpp", r"    digest\.add\(end_of\(i\)\);\n", ""),
    "two texts of a digest that run into each other": (
        of_sets("ContentDigest.*"), SETS + "folder/content_digest.cpp", r"  add\(std::uint64_t\{bytes\.size\(\)\}\);\n", ""),
    "a file that changes while it is hashed and keeps its size": (
        of_sets("HashFile.*"), SETS + "folder/file_hash.cpp",
        r" \|\| modified_nanoseconds\(before\) != modified_nanoseconds\(after\)\)", ")"),
    "columns of which the types are not compared": (
        of_sets("ConcatDataset.*"), SETS + "columns.cpp", r" && columns\[i\]\.type == common\[i\]\.type", ""),
    "a stream's state whose digest is of nothing": (
        of_order("State.ThatIsDamagedAnywhere*"), CONTRACT + "state_digest.cpp",
        r"digest\.get_ref<const std::string&>\(\) == digest_of_text\(text_of\(rest\)\)", "true"),
    "a stream's state whose digest is lost as a whole": (
        of_order("State.ThatIsDamagedAnywhere*"), CONTRACT + "state_digest.cpp", r"\*format == kFormatWithDigest", "false"),
    "a state of before with an unknown field": (
        of_order("State.OfBeforeThereWasADigest*"), CONTRACT + "state_digest.cpp", r"  if \(has_others\)\n", "  if (false)\n"),
    "a state of before with a field twice": (
        of_order("State.OfBeforeThereWasADigest*"), CONTRACT + "state_digest.cpp", r"as_written\.size\(\) != text\.size\(\)",
        "false"),
}


def mutants():
    return of_rows(MUTANTS)


class DataMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
