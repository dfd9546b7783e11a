#include "fake_gateway.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "foundation/numbers.h"

namespace orchid::tests {
namespace {

/// A whole request at the start of `text`, which it is taken from.
std::optional<FakeRequest> cut_request(std::string& text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  FakeRequest request;
  std::istringstream head(text.substr(0, end));
  head >> request.method >> request.target;
  std::string line;
  std::getline(head, line);
  while (std::getline(head, line)) {
    if (line.ends_with('\r')) line.pop_back();
    const auto colon = line.find(':');
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers[name] = line.substr(line.find_first_not_of(' ', colon + 1));
  }
  const auto length = parse_number<std::size_t>(request.header("content-length")).value_or(0);
  if (text.size() < end + 4 + length) return std::nullopt;
  request.body = text.substr(end + 4, length);
  text.erase(0, end + 4 + length);
  return request;
}

/// Whether `text` is a head alone, whose body comes when it is asked for.
bool waits_for_continue(const std::string& text) {
  return text.ends_with("\r\n\r\n") && text.find("Expect: 100-continue") != std::string::npos;
}

}  // namespace

FakeGateway::FakeGateway(Handler handler)
    : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, size) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0)
    throw std::runtime_error("the fake gateway cannot listen");
  address_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  start();
}

FakeGateway::FakeGateway(const std::filesystem::path& socket, Handler handler)
    : handler_(std::move(handler)),
      address_("unix:" + socket.string()),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw std::runtime_error("the fake gateway cannot listen");
  start();
}

FakeGateway::~FakeGateway() {
  const std::uint64_t one = 1;
  (void)!::write(end_.get(), &one, sizeof(one));
  thread_.join();
}

void FakeGateway::start() {
  end_.reset(::eventfd(0, EFD_CLOEXEC));
  if (::listen(listener_.get(), 64) != 0) throw std::runtime_error("listen");
  thread_ = std::thread([this] { serve(); });
}

std::vector<FakeRequest> FakeGateway::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeGateway::serve() {
  std::vector<Connection> connections;
  std::size_t count = 0;
  while (true) {
    std::vector<pollfd> wait{{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Connection& connection : connections)
      wait.push_back({connection.socket.get(), POLLIN, 0});
    ::poll(wait.data(), wait.size(), -1);
    if (wait[0].revents != 0) return;
    std::vector<Connection> kept;
    for (std::size_t i = 0; i < connections.size(); ++i)
      if (wait[i + 2].revents == 0 || take(connections[i]))
        kept.push_back(std::move(connections[i]));
    connections = std::move(kept);
    if (wait[1].revents == 0) continue;
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket)
      connections.push_back({.socket = std::move(socket), .number = count++, .received = {}});
  }
}

bool FakeGateway::take(Connection& connection) {
  std::array<char, 65536> part{};
  const ssize_t got = ::recv(connection.socket.get(), part.data(), part.size(), 0);
  if (got <= 0) return false;
  connection.received.append(part.data(), static_cast<std::size_t>(got));
  while (auto request = cut_request(connection.received)) {
    request->connection = connection.number;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(*request);
    }
    if (!answer(connection, *request)) return false;
  }
  return !waits_for_continue(connection.received) ||
         say(connection, "HTTP/1.1 100 Continue\r\n\r\n");
}

bool FakeGateway::answer(Connection& connection, const FakeRequest& request) {
  const FakeAnswer answer = handler_(request);
  if (answer.hang_up) return false;
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " As Told\r\n";
  for (const std::string& header : answer.headers) text += header + "\r\n";
  text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body;
  return say(connection, text);
}

bool FakeGateway::say(const Connection& connection, const std::string& text) {
  return ::send(connection.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

}  // namespace orchid::tests
