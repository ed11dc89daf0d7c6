#include "agent/src/session/options/location_options.h"

#include <algorithm>
#include <set>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/tiers/name_pattern.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/store_uri.h"
#include "agent/src/session/state/final_weights.h"

namespace ratoon::session {
namespace {

constexpr std::uint64_t kMib = 1ULL << 20;
constexpr std::uint64_t kKeepMibMax = 1ULL << 40;
constexpr std::uint64_t kKeptCheckpointsMin = 2;  // the newest may turn out to be bad
constexpr std::uint32_t kMultipleRanksMin = 2;

Error option_error(const std::string& sentence) {
  return {ErrorKind::kInvalid, sentence};
}

Result<void> check_home_location(const Options& o) {
  if (o.save_folder.empty()) return {};
  const auto uri = objects::parse_store_uri(o.save_folder);
  if (!uri) return option_error("--save-folder: " + uri.error().message());
  if (o.save_folder.find("://") == std::string::npos) return {};
  if (uri->scheme != objects::StoreScheme::kS3) {
    return option_error("--save-folder must be a folder's path or an s3:// bucket, found '" + o.save_folder +
                        (uri->scheme == objects::StoreScheme::kFile
                             ? "': leave out file://"
                             : "': Ratoon only reads from web servers (--load-from)"));
  }
  if (o.group.size > 1) {
    return option_error(
        "ranks of a launch exchange their addresses in the run's folder, but '" + o.save_folder +
        "' is no folder: name a folder that all ranks share, and give the bucket as --stores");
  }
  return {};
}

Result<void> check_stores(const Options& o) {
  std::set<std::string> seen{o.save_folder};
  for (const std::string& text : o.stores) {
    const auto uri = objects::parse_store_uri(text);
    if (!uri) return option_error("--stores: " + uri.error().message());
    const bool is_written =
        uri->scheme == objects::StoreScheme::kFile || uri->scheme == objects::StoreScheme::kS3;
    if (!is_written) {
      return option_error(
          "--stores must be folders or s3:// buckets, because Ratoon only reads from web servers, found '" +
          text + "'");
    }
    if (text == o.save_folder)
      return option_error("--stores names '" + text + "', which is also the folder of --save-folder");
    if (!seen.insert(text).second) return option_error("--stores names '" + text + "' twice");
  }
  return {};
}

Result<void> check_retention(const Options& o) {
  if (o.keep_last == 0 && o.stores.empty()) {
    return option_error(
        "--keep-last 0 removes a checkpoint from the run's folder once every store has it, but there is no "
        "store: add --stores, or keep " +
        std::to_string(kKeptCheckpointsMin) + " or more");
  }
  if (o.keep_last == 0 && is_home_in_store(o)) {
    return option_error(
        "--keep-last 0 removes a checkpoint from the run's folder once every store has it, but --save-folder "
        "'" +
        o.save_folder + "' is itself a store: keep " + std::to_string(kKeptCheckpointsMin) + " or more");
  }
  if (o.keep_last != 0 && o.keep_last < kKeptCheckpointsMin)
    return option_error("--keep-last must be at least 2 checkpoints, or 'all', or 0 with --stores, found '" +
                        std::to_string(o.keep_last) + "'");
  if (o.keep_last_in_stores < kKeptCheckpointsMin)
    return option_error("--keep-last-in-stores must be at least 2 checkpoints, or 'all', found '" +
                        std::to_string(o.keep_last_in_stores) + "'");
  if (o.keep_mib > kKeepMibMax)
    return option_error("--keep-mib must be at most " + std::to_string(kKeepMibMax) + ", found '" +
                        std::to_string(o.keep_mib) + "'");
  return {};
}

Result<void> check_latest_link(const Options& o) {
  if (o.latest_name.empty()) return {};
  const bool is_one = o.member.coordinator_url.empty() && o.group.size == 1;
  const auto checked = checkpoint::check_pattern(o.latest_name, is_one ? 1 : kMultipleRanksMin);
  if (!checked) return option_error("--latest-name: " + checked.error().message());
  const auto name = checkpoint::expand_name(o.latest_name, {.run_name = o.run_name});
  if (name && checkpoint::is_reserved_in_run_folder(name->substr(0, name->find('/'))))
    return option_error("--latest-name must not be a name that the run uses in its folder, found '" +
                        o.latest_name + "': choose another name");
  return {};
}

// check_final_weights() compares paths as the user wrote them. Symbolic links are resolved later, when the
// disk is opened (run_files.h).
Result<void> check_final_weights(const Options& o) {
  const std::filesystem::path file = final_weights_file(o);
  if (file.empty()) return {};
  const std::string found = "found '" + o.final_weights + "'";
  if (!file.has_filename() || file.filename() == "." || file.filename() == "..")
    return option_error("--final-weights must name a file, " + found + ", which is a folder");
  if (is_home_in_store(o)) return {};
  std::error_code none;
  const auto name =
      std::filesystem::absolute(file, none).lexically_normal().lexically_relative(home_location(o));
  if (!name.empty() && checkpoint::is_reserved_in_run_folder(name.begin()->string()))
    return option_error("--final-weights must not be a name that the run uses in its folder, " + found +
                        ": choose another name");
  const auto link = checkpoint::expand_name(o.latest_name, {.run_name = o.run_name});
  if (link && name == *link)
    return option_error("--final-weights must not be the name of the link of --latest-name, " + found +
                        ": choose another name for one of the two");
  return {};
}

// Returns the save interval in words, such as "20 steps" for "20st".
std::string describe_interval(const Every& every) {
  if (every.is_automatic()) return "at the interval that costs least";
  std::string text = every.text();
  if (every.unit() != CountedIn::kSteps) return "every " + text;
  text.resize(text.size() - 2);
  return text == "1" ? "at every step" : "every " + text + " steps";
}

std::string describe_copies(const Options& o) {
  std::string text;
  for (const std::string& uri : o.stores)
    text += (text.empty() ? ", with copies in " : ", ") + objects::join_uri(uri, o.run_name);
  return text.empty() ? text : text + " (--stores)";
}

}  // namespace

Result<void> check_locations(const Options& o) {
  if (auto valid = check_home_location(o); !valid) return valid;
  if (auto valid = check_stores(o); !valid) return valid;
  if (auto valid = check_retention(o); !valid) return valid;
  if (auto valid = check_latest_link(o); !valid) return valid;
  if (auto valid = check_final_weights(o); !valid) return valid;
  // With --overwrite, the restart of a lost rank would begin the run again at step 0.
  if (o.overwrite && o.group.size > 1) {
    return option_error(
        "--overwrite begins at step 0 at every start, and ranks of a launch are started again after each "
        "loss: instead, give the new run another name (--run-name)");
  }
  return {};
}

void make_paths_absolute(Options& o) {
  const auto make_absolute = [](std::string& path) {
    if (path.empty() || path.find("://") != std::string::npos) return;
    std::error_code is_unknown;
    const auto absolute = std::filesystem::absolute(path, is_unknown);
    if (!is_unknown) path = absolute.string();
  };
  make_absolute(o.save_folder);
  if (std::filesystem::path(o.final_weights).has_parent_path()) make_absolute(o.final_weights);
}

std::filesystem::path run_folder(const Options& o) {
  return std::filesystem::path(o.save_folder) / o.run_name;
}

bool is_home_in_store(const Options& o) {
  const auto uri = objects::parse_store_uri(o.save_folder);
  return uri && uri->scheme == objects::StoreScheme::kS3;
}

std::string home_location(const Options& o) {
  if (is_home_in_store(o)) return objects::join_uri(o.save_folder, o.run_name);
  std::error_code none;
  return std::filesystem::absolute(run_folder(o), none).lexically_normal().string();
}

checkpoint::TierLocations tier_locations(const Options& o) {
  checkpoint::TierLocations places{.store_options = o.store_options};
  if (is_home_in_store(o))
    places.stores.push_back(home_location(o));
  else
    places.folder = run_folder(o).string();
  for (const std::string& uri : o.stores) places.stores.push_back(objects::join_uri(uri, o.run_name));
  return places;
}

checkpoint::KeepRules home_rules(const Options& o) {
  return {.last = o.keep_last,
          .every_steps = o.keep_every_steps,
          .bytes_max = o.keep_mib == 0 ? checkpoint::kKeepAll : o.keep_mib * kMib};
}

checkpoint::KeepRules store_rules(const Options& o) {
  return {.last = o.keep_last_in_stores, .every_steps = o.keep_every_steps};
}

std::string describe_saving(const Options& o) {
  std::string kept = "the newest " + std::to_string(o.keep_last);
  if (o.keep_last == kKeepAllCheckpoints) kept = "all";
  if (o.keep_last == 0) kept = "none that every store holds";
  return "saves " + describe_interval(o.save_every) + " (--save-every) and keeps " + kept +
         " (--keep-last) in " + home_location(o) + describe_copies(o);
}

checkpoint::Owner owner_of(const Options& o, const std::string& host, const std::string& identity,
                           std::string start) {
  const MemberOptions& member = o.member;
  const bool is_in_pod = !member.pod_ip.empty() && !member.job_name.empty();
  const std::string name =
      is_in_pod ? member.job_namespace + "/" + member.job_name : home_location(o) + " on " + host;
  std::string job = checkpoint::job_text(name, identity);
  std::replace_if(job.begin(), job.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return {.job = std::move(job), .start = std::move(start)};
}

}  // namespace ratoon::session
