#include "tests/support/scripted_http.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ratoon::test {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool read_more(int fd, std::string& buffer) {
  std::array<char, 16 * 1024> block;
  const ssize_t count = ::read(fd, block.data(), block.size());
  if (count <= 0) return false;
  buffer.append(block.data(), static_cast<std::size_t>(count));
  return true;
}

// Reads one whole request from the connection; nothing once the other side is gone.
std::optional<ScriptedRequest> read_request(int fd, std::string& buffer) {
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more(fd, buffer)) return std::nullopt;
  }
  ScriptedRequest request;
  std::string_view head = std::string_view(buffer).substr(0, end);
  const std::string_view line = head.substr(0, head.find("\r\n"));
  request.method = line.substr(0, line.find(' '));
  request.target = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
  head.remove_prefix(std::min(line.size() + 2, head.size()));
  while (!head.empty()) {
    const std::string_view field = head.substr(0, head.find("\r\n"));
    const std::size_t colon = field.find(':');
    std::string_view value = field.substr(std::min(colon + 1, field.size()));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    request.headers[lower(field.substr(0, colon))] = value;
    head.remove_prefix(std::min(field.size() + 2, head.size()));
  }
  std::size_t size = 0;
  const std::string length = request.header("content-length");
  std::from_chars(length.data(), length.data() + length.size(), size);
  while (buffer.size() < end + 4 + size) {
    if (!read_more(fd, buffer)) return std::nullopt;
  }
  request.body = buffer.substr(end + 4, size);
  buffer.erase(0, end + 4 + size);
  return request;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

ScriptedReply reply(int status, const std::string& body, const std::string& headers, long claimed_bytes) {
  const long length = claimed_bytes >= 0 ? claimed_bytes : static_cast<long>(body.size());
  return {"HTTP/1.1 " + std::to_string(status) + " Scripted\r\nContent-Length: " + std::to_string(length) +
              "\r\n" + headers + "\r\n" + body,
          claimed_bytes >= 0 ? ScriptedReply::kCut : ScriptedReply::kGoOn};
}

ScriptedHttp::ScriptedHttp(Script script)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

ScriptedHttp::~ScriptedHttp() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  ::shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  for (auto& thread : serving_) thread.join();
}

std::vector<ScriptedRequest> ScriptedHttp::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void ScriptedHttp::accept_all() {
  while (true) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    if (!connection.is_open()) continue;
    open_.push_back(connection.get());
    serving_.emplace_back([this, peer = std::move(connection)]() mutable { serve(std::move(peer)); });
  }
}

void ScriptedHttp::serve(UniqueFd connection) {
  std::string buffer;
  while (const auto request = read_request(connection.get(), buffer)) {
    const ScriptedReply scripted = answer(*request);
    send_all(connection.get(), scripted.bytes);
    if (scripted.then == ScriptedReply::kCut) break;
    while (scripted.then == ScriptedReply::kHang && read_more(connection.get(), buffer)) buffer.clear();
  }
  ::shutdown(connection.get(), SHUT_RDWR);
  const std::lock_guard lock(mutex_);
  std::erase(open_, connection.get());
}

ScriptedReply ScriptedHttp::answer(const ScriptedRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  return script_(request, static_cast<int>(requests_.size()));
}

}  // namespace ratoon::test
