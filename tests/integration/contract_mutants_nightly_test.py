"""Mutants of what is said on the wire: messages, their bounds and versions, exit codes, and what
strangers send. With one rule of it broken a unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

CONTRACT = "base/contract/"


def of_contract(tests):
    return "contract_test", tests


def of_words(tests):
    return "words_property_test", tests


def of_strangers(tests):
    return "stranger_corpus_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a location that the coordinator refuses with the whole message": (
        ("words_property_test", "LawOfWords.*"), "base/contract/joining_messages.cpp",
        r"return !location\.empty\(\) && [^;]*;", "return !location.empty();"),
    "a point that one of all can reach": (
        of_contract("PickResumePoint.*"), CONTRACT + "resume_point.cpp",
        r"candidate\.second\.holders\.size\(\) == joiners\.size\(\)", "!candidate.second.holders.empty()"),
    "a point that a joiner cannot read": (
        of_contract("PickResumePoint.*"), CONTRACT + "resume_point.cpp", r"if \(entry\.is_complete\) continue;", "continue;"),
    "ranks that go back to different steps": (
        of_contract("RollbackDispute.*"), CONTRACT + "resume_point.cpp",
        r"if \(joiners\[rank\]\.rollback == joiners\[0\]\.rollback\) continue;", "continue;"),
    "an unknown tier": (
        of_contract("Refusals.*"), CONTRACT + "message_parts.cpp",
        r"if \(std::find\(kTierNames\.begin\(\), kTierNames\.end\(\), e\.tier\) == kTierNames\.end\(\)\)", "if (false)"),
    "the last complaint instead of the first": (
        of_contract("Fields.*"), CONTRACT + "fields.cpp",
        r"  if \(!is_sound\(\)\) return;\n(  const auto found(?:.*\n)+?\}\n\nvoid .*\{\n)  if \(!is_sound\(\)\) return;\n",
        r"\1"),
    "a number over its bound": (
        of_contract("Refusals.*:Fields.*"), CONTRACT + "fields.cpp", r" \|\| value->get<std::uint64_t>\(\) > max\)", ")"),
    "a sentence that is longer than the other side takes": (
        of_words("LawOfWords.*"), CONTRACT + "message_parts.cpp", r"return cut_text\((as_utf8\(.*\)), kMessageTextBytesMax\);",
        r"return \1;"),
    "a sentence that grows behind the cut": (
        of_words("LawOfWords.*"), CONTRACT + "message_parts.cpp", r"as_utf8\(text\.empty\(\) \? otherwise : text\)",
        "std::string(text.empty() ? otherwise : text)"),
    "a span of time without an end": (
        of_words("LawOfWords.*"), CONTRACT + "message_parts.cpp", r"std::min\(seconds, kSecondsMax\)", "seconds"),
    "a list that is longer than the other side takes": (
        of_words("LawOfWords.*"), CONTRACT + "joining_messages.cpp", r"first_items\(m\.inventory, kInventoryEntriesMax\)",
        "m.inventory"),
    "a request for two hosts": (
        of_strangers("*"), "base/http/server/request_parser.cpp", r"count_of\(fields, field::host\) > 1 \|\| ", ""),
    "an answer behind the last one": (
        of_strangers("*"), "base/http/server/server_session.cpp", r"if \(keeps_alive_ && !has_input_ended_\)",
        "if (!has_input_ended_)"),
    "an operator that no longer speaks the oldest version that it serves": (
        of_contract("Versions.*"), CONTRACT + "codec.cpp", r"version < kOldestServedContractVersion \|\| ",
        "version <= kOldestServedContractVersion || "),
    "a newer version that is read as ours": (
        of_contract("Versions.*"), CONTRACT + "codec.cpp", r" \|\| version > kContractVersion\)", ")"),
    "a disk that refuses taken for a mistake of the program": (
        of_contract("ExitCode.*"), CONTRACT + "exit_code.cpp", r"    case ErrorKind::kPermissionDenied:\n", ""),
    "a bad checkpoint taken for a bad disk": (
        of_contract("ExitCode.*"), CONTRACT + "exit_code.cpp", r"return ExitCode::kCheckpointsBad;",
        "return ExitCode::kStorage;"),
    "a message with a level more than it may have": (
        of_contract("ParseJson.*"), CONTRACT + "parse_json.cpp", r"open_\.size\(\) < depth_max_", "open_.size() <= depth_max_"),
    "a complaint with the text that was read, cut within a character": (
        of_contract("ParseJson.*"), CONTRACT + "parse_json.cpp", r'std::min\(text\.find\("; last read:"\), kBytesMax\)',
        "kBytesMax"),
    "a run that ends with a checkpoint of an earlier step": (
        of_contract("Refusals.*"), CONTRACT + "working_messages.cpp", r"f\.is_sound\(\) && checkpoint\.step != last",
        "f.is_sound() && checkpoint.step > last"),
    "a phase of a newer agent that is refused": (
        of_contract("NewerMessages.*:Refusals.*:Names.*"), CONTRACT + "working_messages.cpp",
        r"known == kPhaseNames\.end\(\) \? ProcessPhase::kUser\s+: ", ""),
}


def mutants():
    return of_rows(MUTANTS)


class ContractMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
