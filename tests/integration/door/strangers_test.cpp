// People who connect to the door and are no clients.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "door_fixture.h"
#include "foundation/unique_fd.h"
#include "protocol/door_messages.h"

namespace orchid::tests {
namespace {

using std::chrono::seconds;

UniqueFd connect_to(const std::string& url) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
          0);
  return socket;
}

void say(const UniqueFd& socket, const std::string& text) {
  (void)!::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::string hello_with(const std::string& token, std::uint16_t version = door_version) {
  const DoorHello hello{.version = version,
                        .token_bytes = static_cast<std::uint16_t>(token.size())};
  return std::string(reinterpret_cast<const char*>(&hello), sizeof(hello)) + token;
}

/// Everything until the door hangs up, as it does with each stranger.
std::string hear_all(const UniqueFd& socket) {
  std::string text;
  while (true) {
    pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&entry, 1, 20'000) == 1);
    std::array<char, 4096> part{};
    const ssize_t n = ::recv(socket.get(), part.data(), part.size(), 0);
    if (n <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
}

std::size_t resident_kib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  return 0;
}

std::size_t descriptors(pid_t pid) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
    ++count;
  return count;
}

}  // namespace

TEST_CASE_FIXTURE(DoorFixture, "a thousand silent strangers cost little, and keep nobody out") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  const pid_t door = named("orchid-door").front();
  const std::size_t memory = resident_kib(door);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<UniqueFd> strangers;
  for (int stranger = 0; stranger < 1000; ++stranger)
    strangers.push_back(connect_to(system().door()));
  // One more comes in past them.
  CHECK(this->client().invoke("echo", "excuse me").text() == "excuse me");
  CHECK(descriptors(door) < 100);
  CHECK(resident_kib(door) < memory + 1024);
  CHECK(guests().size() <= 2);
  // Silence is cut.
  CHECK(hear_all(strangers.back()).empty());
  CHECK(eventually([&] { return descriptors(door) < 20; }));
}

TEST_CASE_FIXTURE(DoorFixture, "what is no hello is cut without a word") {
  std::mt19937 random(20261121);  // NOLINT(bugprone-random-generator-seed): the same each time
  std::string noise(64, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, std::string(16, '\0')}) {
    const UniqueFd stranger = connect_to(system().door());
    say(stranger, text);
    CHECK(hear_all(stranger).empty());
  }
  CHECK(guests().empty());
}

TEST_CASE_FIXTURE(DoorFixture, "strangers with tokens of their own never get to speak UCX") {
  const auto refused = [&](const std::string& text, unsigned status) {
    const UniqueFd stranger = connect_to(system().door());
    say(stranger, text);
    const std::string answer = hear_all(stranger);
    REQUIRE(answer.size() > sizeof(DoorWelcome));
    DoorWelcome welcome;
    std::memcpy(static_cast<void*>(&welcome), answer.data(), sizeof(welcome));
    CHECK(welcome.status == status);
    CHECK(welcome.port == 0);
    CHECK(answer.find("urn:orchid:problem:") != std::string::npos);
  };
  refused(hello_with("orc_wrong"), 401);
  refused(hello_with("orc\r\nAuthorization: Bearer x"), 401);
  refused(hello_with(std::string(4096, 'a')), 401);
  refused(hello_with(""), 401);
  refused(hello_with("orc_wrong", 7), 501);
  CHECK(eventually([&] { return guests().empty(); }));
  CHECK_FALSE(named("orchid-door").empty());
}

TEST_CASE_FIXTURE(DoorFixture, "strangers who never finish their token fill no more than a part") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  std::vector<UniqueFd> strangers;
  for (int stranger = 0; stranger < 200; ++stranger) {
    strangers.push_back(connect_to(system().door()));
    say(strangers.back(), hello_with(std::string(100, 'a')).substr(0, 50));
  }
  CHECK(guests().size() <= 20);
  // Who is in already stays, and new clients come in once the others' time is over.
  CHECK(client.invoke("echo", "inside").text() == "inside");
  CHECK(eventually([&] {
    try {
      return this->client().invoke("echo", "new").text() == "new";
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::no_capacity);
      return false;
    }
  }));
  for (const UniqueFd& stranger : strangers) (void)hear_all(stranger);
  CHECK(eventually([&] { return guests().size() <= 2; }));
}

TEST_CASE_FIXTURE(DoorFixture, "a client with a token that never makes its lane is cut") {
  const UniqueFd half = connect_to(system().door());
  say(half, hello_with(system().token()));
  std::array<char, sizeof(DoorWelcome)> welcome{};
  REQUIRE(::recv(half.get(), welcome.data(), welcome.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(welcome.size()));
  CHECK(guests().size() == 1);
  CHECK(hear_all(half).empty());
  CHECK(eventually([&] { return guests().empty(); }));
}

}  // namespace orchid::tests
