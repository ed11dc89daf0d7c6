#include "launcher/member_settings.h"

#include <charconv>
#include <limits>

#include "base/contract/names.h"
#include "base/http/url.h"

namespace ratoon::launcher {
namespace {

namespace env = names::env;

constexpr std::uint32_t kSecondsMax = 24 * 3600;

class Reader {
 public:
  explicit Reader(const FindVariable& find) : find_(find) {}

  std::string text(const char* name) const { return find_(name).value_or(""); }
  std::string needed(const char* name) {
    std::string value = text(name);
    if (value.empty())
      complain(name, "is not set", "let the operator (agent: Launcher) or `ratoon run` start this program");
    return value;
  }
  std::uint32_t whole(const char* name, std::uint32_t absent, std::uint32_t max) {
    const std::string value = text(name);
    if (value.empty()) return absent;
    std::uint32_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc() || end != value.data() + value.size() || number > max)
      complain(name, "is '" + value + "'", "set a whole number of at most " + std::to_string(max));
    return number;
  }
  void complain(const char* name, const std::string& what, const std::string& remedy) {
    if (!error_) error_ = Error(ErrorKind::kInvalid, std::string(name) + " " + what + ": " + remedy);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const FindVariable& find_;
  std::optional<Error> error_;
};

// A statically linked program cannot look up names.
void check_address(const std::string& url, Reader& reader) {
  const auto parsed = http::parse_url(url);
  if (!parsed)
    reader.complain(env::kCoordinatorUrl, "cannot be read", parsed.error().message());
  else if (!http::is_ip_address(parsed->host))
    reader.complain(env::kCoordinatorUrl, "is " + parsed->shown,
                    "ratoon-launcher looks up no names, so give the IP address of the coordinator (the "
                    "operator's --advertise-url)");
}

}  // namespace

Result<MemberSettings> read_member_settings(const FindVariable& find) {
  constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint32_t kPortMax = 65535;
  Reader reader(find);
  MemberSettings settings;
  settings.process = {
      .job = {.name_space = reader.needed(env::kJobNamespace), .name = reader.needed(env::kJobName)},
      .role = reader.needed(env::kRole),
      .index = reader.whole(env::kIndex, 0, kAny),
      .incarnation = reader.whole(env::kIncarnation, 0, kAny),
      .member_uid = reader.needed(env::kMemberUid),
      .local_rank = 0,
      .start = ""};
  settings.coordinator_url = reader.needed(env::kCoordinatorUrl);
  if (!settings.coordinator_url.empty()) check_address(settings.coordinator_url, reader);
  settings.tls = {.ca_pem = reader.text(env::kCoordinatorCa),
                  .server_name = reader.text(env::kCoordinatorName)};
  settings.token_file = reader.needed(env::kTokenFile);
  settings.host = find(env::kPodIp).value_or("127.0.0.1");
  settings.master_port = static_cast<std::uint16_t>(reader.whole(env::kMasterPort, 0, kPortMax));
  settings.lifeline_fd = reader.text(env::kLifelineFd).empty()
                             ? -1
                             : static_cast<int>(reader.whole(env::kLifelineFd, 0, kPortMax));
  settings.times.grace = std::chrono::seconds(reader.whole(env::kGraceSeconds, 30, kSecondsMax));
  settings.times.leave = std::chrono::seconds(reader.whole(env::kLeaveWithin, 2, kSecondsMax));
  settings.notice_file = reader.text(env::kNoticeFile);
  if (reader.error()) return *reader.error();
  return settings;
}

}  // namespace ratoon::launcher
