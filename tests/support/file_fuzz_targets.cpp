// Files that people write, and messages to the control socket of a run.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/contract/fields.h"
#include "base/core/unique_fd.h"
#include "cli/job/job_file.h"
#include "operator/kube/access/api_server_access.h"
#include "operator/local/control/control_socket.h"
#include "operator/local/disk_writer.h"
#include "operator/runtime/api_server/read_yaml.h"
#include "tests/support/fuzz_targets.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::fuzz {
namespace {

using nlohmann::json;

bool is_plain_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; });
}

// No file exists where a kubeconfig names one.
Result<std::string> read_no_file(const std::string& path) {
  if (path.ends_with("there")) return "bytes of " + path;
  return Error(ErrorKind::kNotFound, "no such file");
}

bool has_text(const json& value, const std::string& text) {
  if (value.is_structured())
    return std::ranges::any_of(value, [&](const json& part) { return has_text(part, text); });
  return value == text;
}

// Every accepted setting is in the document.
void check_access(const kube::ApiServerAccess& access, const json& document) {
  require(access.server.starts_with("https://") || access.server.starts_with("http://"));
  require(!access.server.ends_with('/') && !access.name_space.empty());
  require(access.certificate_pem.empty() == access.private_key_pem.empty());
  for (const auto& text : {access.token, access.token_file, access.server_name, access.ca_file})
    require(text.empty() || has_text(document, text));
}

// One run's socket, and its folder.
class ControlSocketEnd {
 public:
  ControlSocketEnd() : socket_(local::ControlSocket::open(folder_.path(), disk_).value()) {}

  UniqueFd call() const {
    UniqueFd asker(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (folder_.path() / "control").string();
    require(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    require(::connect(asker.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return asker;
  }
  local::ControlSocket& socket() { return socket_; }

 private:
  test::TemporaryFolder folder_;
  local::DiskWriter disk_;
  local::ControlSocket socket_;
};

// The answer that the caller has received; nothing: there was no answer yet. An answer of no bytes is the
// end.
std::optional<std::string> heard_by(const UniqueFd& asker) {
  std::array<char, 2 * local::kControlBytesMax> text{};
  const ssize_t size = ::recv(asker.get(), text.data(), text.size(), 0);
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

void check_packet(std::string_view packet) {
  static ControlSocketEnd door;
  const UniqueFd asker = door.call();
  require(::send(asker.get(), packet.data(), packet.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(packet.size()));
  const auto asked = door.socket().take_requests();
  const auto expected = local::decode_control_request(packet.substr(0, local::kControlBytesMax));
  require(asked.size() == (expected && !packet.empty() ? 1 : 0));
  if (!asked.empty()) {
    require(asked.front().request == *expected && !heard_by(asker));
    local::ControlSocket::answer(asked.front(), {.is_done = true, .message = std::string(packet)});
  }
  const auto told = heard_by(asker);
  require(told.has_value());
  if (packet.empty()) return require(told->empty());
  const auto reply = local::decode_control_reply(*told);
  require(reply.has_value() && reply->is_done == expected.has_value());
  const auto more = heard_by(asker);  // one answer, and no other
  require(!more || more->empty());
}

void check_control_words(std::string_view bytes) {
  if (const auto request = local::decode_control_request(bytes)) {
    require(local::decode_control_request(local::encode(*request)).value() == *request);
  } else {
    require_sentence(request.error());
  }
  if (const auto reply = local::decode_control_reply(bytes)) {
    const auto again = local::decode_control_reply(local::encode(*reply)).value();
    require(again.is_done == reply->is_done && again.message.size() <= reply->message.size());
    const bool is_plain = is_plain_text(reply->message) && reply->message.find('\n') == std::string::npos;
    require(again == *reply || !is_plain || reply->message.size() > 4000);
  } else {
    require_sentence(reply.error());
  }
  // Every message can be printed.
  require(local::decode_control_reply(local::encode({.is_done = false, .message = std::string(bytes)}))
              .has_value());
}

}  // namespace

void kubeconfig(std::string_view bytes) {
  const auto document = runtime::parse_yaml(std::string(bytes), "the file");
  if (!document) {
    require(document.error().message().starts_with("the file:"));
    return require_sentence(document.error());
  }
  // JSON is YAML.
  const std::string text = document->dump(-1, ' ', true, json::error_handler_t::replace);
  if (is_plain_text(bytes)) require(runtime::parse_yaml(text, "the file").value() == *document);
  for (const std::string context : {"", "other"}) {
    const auto access = kube::decode_kubeconfig(*document, context, read_no_file);
    if (access)
      check_access(*access, *document);
    else
      require_sentence(access.error());
  }
}

void job_file(std::string_view bytes) {
  const auto job = cli::parse_job(std::string(bytes), "job.yaml", {});
  if (!job) {
    const std::string& sentence = job.error().message();
    require(sentence.starts_with("job.yaml"));
    if (sentence.starts_with("job.yaml:") && sentence[9] != ' ') {  // a line of the file
      const auto lines = static_cast<std::size_t>(std::ranges::count(bytes, '\n')) + 1;
      require(std::stoul(sentence.substr(9)) <= lines + 1);
    }
    return require_sentence(job.error());
  }
  const json written = api::encode_training_job(*job);
  const std::string text = written.dump(-1, ' ', true, json::error_handler_t::replace);
  if (!is_plain_text(bytes)) return;
  const auto again = cli::parse_job(text, "job.yaml", {});
  require(again.has_value() && api::encode_training_job(*again) == written);
  const auto longer = cli::parse_job(std::string(bytes), "job.yaml", {"--more"});
  require(longer.has_value());
}

void control(std::string_view bytes) {
  check_control_words(bytes);
  constexpr std::size_t kPackets = 8;
  for (std::size_t i = 0; i < kPackets && !bytes.empty(); ++i) {
    const std::size_t size = 4 * static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    // The last piece is the rest, of any length.
    const std::string_view packet = i + 1 == kPackets || size == 4 * 255U ? bytes : bytes.substr(0, size);
    check_packet(packet);
    bytes.remove_prefix(packet.size());
  }
}

}  // namespace ratoon::fuzz
