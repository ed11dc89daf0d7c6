"""Mutants of who owns a folder and what lies in it: claims, identities and locks, packs of two jobs, the checkpoint to resume
from, manifests that were lost and links that were left. With one rule of it broken a unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

CHECKPOINT = "agent/src/checkpoint/"
SESSION = "agent/src/session/"


def of_checkpoint(tests):
    return "checkpoint_test", tests


def of_tiers(tests):
    return "tiers_test", tests


def of_rules(tests):
    return "session_rules_test", tests


def of_session(tests):
    return "session_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a claim whose owner is alive": (
        of_tiers("*ClaimTest.*:JudgeClaim.*"), CHECKPOINT + "tiers/claim_rules.cpp",
        r"return has_shown_life && seen\.observed_duration >= borne \? ClaimVerdict::kRefuse : ", "return "),
    "a namesake taken for the same job": (
        of_tiers("JobRelation.*"), CHECKPOINT + "tiers/claim_rules.cpp",
        r"return are_places \? JobRelation::kOther : JobRelation::kNamesake;", "return JobRelation::kSame;"),
    "a claim that is older than the newest": (
        of_tiers("*ClaimTest.*"), CHECKPOINT + "tiers/claim.cpp", r"numbers->back\(\) == number;", "numbers->back() >= number;"),
    "a claim of a lost member that one which waits lets lapse": (
        of_session("OwnershipGuardTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"if \(!holds_claims_ && !is_waiting_\) continue;", "if (!holds_claims_) continue;"),
    "a claim that is kept alive in the name of the process that waits": (
        of_tiers("*ClaimTest.*"), CHECKPOINT + "tiers/claim.cpp", r"\.owner = claim\.owner, \.term = claim\.term\}",
        ".owner = {.job = claim.owner.job, .start = std::string(writer)}, .term = claim.term}"),
    "a claim that is kept alive by one that no longer waits": (
        of_session("OwnershipGuardTest.*"), SESSION + "locations/ownership_guard.cpp", r"if \(!is_waiting\(\)\) break;", ""),
    "an owner that loses a race to its own job and stops": (
        of_tiers("*ClaimTest.*"), CHECKPOINT + "tiers/claim.cpp", r"if \(!\*created\) continue;",
        "if (!*created) return claim_lost_error(*disk_, *now);"),
    "a claim that lapses while another place is waited for": (
        of_session("OwnershipGuardTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"if \(clock\.now\(\) - renewed >= claim_times_\.lease / kRenewalsPerLease\)", "if (false)"),
    "a wait that is cut short and gives the job's claim away": (
        of_session("OwnershipGuardTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"if \(claim\.error\(\)\.kind\(\) == ErrorKind::kAlreadyExists\)", "if (true)"),
    "a job's claim that ends with one of its processes": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/checkpoint_locations.cpp",
        r"if \(gives_back\) ownership->release\(\);", "ownership->release();"),
    "a member that fails and gives the claim of its job away": (
        ("coordinator_link_test", "CoordinatorLinkTest.AProcessGivesTheClaim*"), SESSION + "api/attempt_loop.cpp",
        r"is_ordered_to_leave\(why\) && link_->is_job_over\(\)", "true"),
    "a claim that all processes of a job keep alive": (
        of_rules("KeepsClaimsAlive.*"), SESSION + "locations/claimed_locations.cpp",
        r"options\.member\.index < kClaimKeepingMembers && ", ""),
    "a place that is another's now and is renewed": (
        of_tiers("*ClaimTest.*"), CHECKPOINT + "tiers/claim.cpp", r"if \(!is_ours\) return claim_lost_error[^;]*;", ""),
    "an identity that cannot be read now and counts as none": (
        of_rules("IdentityOfAFolder.*"), SESSION + "locations/identity.cpp",
        r"return unknown_identity_error\(there\.error\(\)\);",
        "return error_if_timeout(there.error());"),
    "an identity that cannot be read now and is replaced": (
        ("operator_local_test", "RunFolderTest.*"), "operator/local/folder/run_folder.cpp", r"if \(!is_known\)",
        "if (false)"),
    "the oldest checkpoint instead of the newest": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp",
        r"std::map<CheckpointId, TieredCheckpoint, std::greater<>>", "std::map<CheckpointId, TieredCheckpoint, std::less<>>"),
    "checkpoints of two runs that are mixed": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp", r"if \(!is_new && known\.digest != entry\.digest\)",
        "if (false)"),
    "a run that is begun anew without leave": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp", r"if \(!requests\.overwrites\)\s+return [^;]*;", ""),
    "bad in one tier and taken from none": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp", r"else if \(!complete\.contains\(id_of\(entry\)\)\)",
        "else if (complete.erase(id_of(entry)), true)"),
    "a copied folder that keeps the identity of its original": (
        of_rules("IdentityOfAFolder.*"), SESSION + "locations/identity.cpp", r"return identity_of_folder\(\*kept, \*mark\);",
        "return kept;"),
    "a store without a lock that is passed over in silence": (
        of_rules("FolderLock.*"), SESSION + "locations/folder_lock.cpp", r"warnings\.push_back\([^;]*;", "static_cast<void>(0);"),
    "a store whose lock is not taken": (
        of_rules("FolderLock.*"), SESSION + "locations/folder_lock.cpp",
        r"(for \(const auto& folder : folders_of_stores\(options\)\) \{)", r"\1 if (true) continue;"),
    "an address without its colon that is taken for a folder": (
        of_rules("CheckPlaces.*"), "agent/src/objects/store_uri.cpp",
        r"return rest\.starts_with\(\"//\"\) \? \":\" : \"\";", "return \"\";"),
    "a manifest of packs of two jobs that is taken for a checkpoint": (
        ("checkpoint_commands_test", "SurveyTest.*"), CHECKPOINT + "format/manifest.cpp",
        r"  if \(const auto mixture = find_two_owners\(manifest\.packs\)\) return [^;]*;\n", ""),
    "an owner that is compared with the pack before alone": (
        of_checkpoint("TwoOwners.*"), CHECKPOINT + "format/manifest.cpp", r"if \(pack\.owner\.empty\(\)\) continue;\n",
        "if (pack.owner.empty()) first = nullptr;\n    if (pack.owner.empty()) continue;\n"),
    "packs of an attempt after the newest manifest that are not missed": (
        of_checkpoint("LostManifestsTest.*"), CHECKPOINT + "commit/lost_manifests.cpp",
        r"return \(!\*newest \|\| attempt > \*\*newest\) && ", "return !*newest && "),
    "a note of a commit whose packs are gone": (
        of_checkpoint("LostManifestsTest.*:SignOfACommit*"), CHECKPOINT + "commit/lost_manifests.cpp",
        r" &&\s+std::ranges::binary_search\(\*packs, attempt\)", ""),
    "the newest note of a commit that goes with the old ones": (
        of_checkpoint("LostManifestsTest.*"), CHECKPOINT + "commit/lost_manifests.cpp",
        r"  if \(!attempts->empty\(\)\) attempts->pop_back\(\);\n", ""),
    "a rollback that is no sign of a commit": (
        of_checkpoint("LostManifestsTest.*"), CHECKPOINT + "commit/lost_manifests.cpp",
        r"return is_lost \|\| \(!\*newest && !newest_elsewhere && [^;]*;", "return is_lost;"),
    "a link to a checkpoint that another location has": (
        of_checkpoint("LostManifestsTest.*"), CHECKPOINT + "commit/lost_manifests.cpp",
        r"\*newest_elsewhere < \*linked", "true"),
    "a place that was another job's since its checkpoints were listed": (
        of_session("OwnershipGuardTest.*"), CHECKPOINT + "tiers/claim.cpp",
        r"follows_another_job = \*now && !was_made_by_job\(\*\*now, owner\);", "follows_another_job = false;"),
    "an attempt that begins with a list from before another job": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/checkpoint_locations.cpp",
        r"if \(ownership_->took_from_another_job\(\)\)", "if (false)"),
    "a term that ends with each claim": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim_rules.cpp", r"return goes_on \? now->term : number;", "return number;"),
    "a term that goes on after another job": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim_rules.cpp", r"goes_on = now && was_made_by_job\(\*now, owner\) && ",
        "goes_on = now && "),
    "a term in which nothing of an older version counts": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim_rules.cpp",
        r"return term == other \|\| term == kUnknownTerm \|\| other == kUnknownTerm;", "return term == other;"),
    "a renewal that begins a term": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim.cpp", r"\.is_released = is_released, \.term = term_\}",
        ".is_released = is_released, .term = next}"),
    "a claim that another process keeps alive without its term": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim.cpp", r"\.owner = claim\.owner, \.term = claim\.term\}",
        ".owner = claim.owner}"),
    "an attempt that began before another job and is confirmed": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim.cpp", r"return is_same_term\(\(\*now\)->term, term\) \? ",
        "return true ? "),
    "an attempt that began before another job and removes files": (
        of_tiers("ClaimTerm*"), CHECKPOINT + "tiers/claim.cpp", r" && is_same_term\(now\.term, term\);", ";"),
    "a term that a process without the claim does not learn": (
        of_session("OwnershipTermsTest.*"), SESSION + "locations/ownership_guard.cpp", r": last_seen_claims_\[i\]\.term;",
        ": checkpoint::kUnknownTerm;"),
    "a late call that ends the claim of the attempt after it": (
        of_session("OwnershipTermsTest.*"), SESSION + "locations/ownership_guard.cpp", r"terms_\[\*index\] == term && ", ""),
    "a place that a process of the job took from another job in silence": (
        of_session("OwnershipTermsTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"claim\.follows_another_job\(\) \|\| [^;]*;", "claim.follows_another_job();"),
    "an attempt that begins in a place of another job and confirms": (
        of_session("OwnershipTermsTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"is_ours \? \(\*newest\)->term : checkpoint::kNoTerm;", "is_ours ? (*newest)->term : checkpoint::kUnknownTerm;"),
    "a follower that keeps the term of an attempt before": (
        of_session("OwnershipTermsTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"if \(!newest && !is_known\) return newest\.error\(\);", "if (is_known) continue;"),
    "a pack in memory from before another job": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/checkpoint_locations.cpp",
        r"  options\.location_hash =\s+staging_mark\([^;]*;\n", ""),
    "a world that saves in any term": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/checkpoint_locations.cpp",
        r"std::uint64_t term = ownership_->term_at\(\*tiers_\.home\(\)\.disk\);",
        "std::uint64_t term = checkpoint::kUnknownTerm;"),
    "a rollback in a place that another job has used since": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/checkpoint_locations.cpp",
        r"if \(auto ours = ownership_->confirm_all_locations\(\); !ours\) return ours;", ""),
    "a run that begins anew in a place that another job has used since": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/checkpoint_locations.cpp",
        r"if \(const auto ours = ownership_->confirm_all_locations\(\); !ours\)\s+fail\([^;]*;", ""),
    "lost manifests that only the history shows": (
        of_session("TrainStrangeFolderTest.*"), SESSION + "locations/lost_manifest_check.cpp",
        r"return \*are_unknown && [^;]*;", "return false;"),
    "packs of a run without any commit that are taken for lost": (
        of_session("Train*"), SESSION + "locations/lost_manifest_check.cpp",
        r"return \*are_unknown && [^;]*;", "return are_unknown;"),
    "lost manifests that only a link shows": (
        of_session("TrainStrangeFolderTest.*"), SESSION + "locations/lost_manifest_check.cpp",
        r"  if \(auto checked = check_links\([^;]*; !checked\)\s+return checked;\n", ""),
    "copies that remove in any term of a claim": (
        of_session("CheckpointLocationsTest.*"), SESSION + "locations/ownership_guard.cpp",
        r"still \? still->term_at\(place\) : checkpoint::kUnknownTerm", "checkpoint::kUnknownTerm"),
    "a link of a killed process that stays": (
        of_tiers("OldNames.*"), CHECKPOINT + "tiers/stale_links.cpp", r"if \(is_left && ::unlink", "if (false && ::unlink"),
    "a link that is to get its name in a moment and goes": (
        of_tiers("OldNames.*"), CHECKPOINT + "tiers/stale_links.cpp", r"names\.newest && \*attempt < \*names\.newest",
        "names.newest && *attempt <= *names.newest"),
}


def mutants():
    return of_rows(MUTANTS)


class ClaimMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
