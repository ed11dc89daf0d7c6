// api_probe URL FOLDER: talks to a real kube-apiserver through base/http, with the certificates ca.pem,
// client.pem and client.key of FOLDER. Lists namespaces, opens a watch on config maps, prints "watching" and
// then each event's name as it arrives, until one is called "enough".
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "base/http/transport.h"

namespace {

using ratoon::Error;
using ratoon::ErrorKind;
using ratoon::Result;
namespace http = ratoon::http;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Splits the stream into lines, each one event.
class Watch final : public http::BodySink {
 public:
  Result<void> on_head(const http::ResponseHead& head) override {
    if (head.status != 200) return Error(ErrorKind::kInvalid, "status " + std::to_string(head.status));
    print("watching");
    return {};
  }

  Result<void> on_bytes(std::string_view bytes) override {
    rest_ += bytes;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      const auto event = nlohmann::json::parse(rest_.substr(0, end));
      rest_.erase(0, end + 1);
      const auto name = event.at("object").at("metadata").at("name").get<std::string>();
      print(event.at("type").get<std::string>() + " " + name);
      if (name == "enough") return Error(ErrorKind::kCancelled, "enough");
    }
    return {};
  }

 private:
  std::string rest_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string url = argv[1];
  const std::string folder = argv[2];
  const auto transport =
      http::make_transport({.tls = {.ca_pem = read_file(folder + "/ca.pem"),
                                    .certificate_pem = read_file(folder + "/client.pem"),
                                    .private_key_pem = read_file(folder + "/client.key")}});
  const auto list = transport->call({.url = url + "/api/v1/namespaces"}, {}, {});
  if (!list || list->status != 200) {
    print(list ? list->body : list.error().message());
    return 1;
  }
  print("namespaces " + std::to_string(nlohmann::json::parse(list->body).at("items").size()));

  Watch watch;
  const auto ended =
      transport->stream({.url = url + "/api/v1/namespaces/default/configmaps?watch=true"},
                        {.total = ratoon::Duration::zero(), .silence = std::chrono::seconds(30)}, watch, {});
  const bool is_enough = !ended && ended.error().kind() == ErrorKind::kCancelled;
  if (!is_enough) print(ended ? "the watch ended" : ended.error().message());
  return is_enough ? 0 : 1;
}
