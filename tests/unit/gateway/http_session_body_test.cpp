// Bodies that are not held in memory: a request's on its way into a sink, a file as an answer's.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "foundation/pipe.h"
#include "http/body.h"
#include "http_session_fixture.h"

namespace orchid::gateway {
namespace {

using test::SessionFixture;

/// What a sink has seen; outlives it.
struct Seen {
  std::string bytes;
  int finished = 0;
  bool is_gone = false;
  bool refuses = false;
  bool is_full = false;
  Task then{};
};

class SeeingSink final : public BodySink {
 public:
  explicit SeeingSink(Seen& seen) : seen_(seen) {}
  SeeingSink(const SeeingSink&) = delete;
  SeeingSink& operator=(const SeeingSink&) = delete;
  ~SeeingSink() override { seen_.is_gone = true; }
  Result<void> take(std::span<const std::byte> bytes) override {
    if (seen_.refuses) return fail(ErrorCode::disk_full, "there is no room for it");
    seen_.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  [[nodiscard]] bool is_full() const override { return seen_.is_full; }
  void when_not_full(Task then) override { seen_.then = std::move(then); }
  void finish() override { ++seen_.finished; }

 private:
  Seen& seen_;
};

std::string put_of(std::size_t size, const std::string& more = "") {
  return "PUT /room HTTP/1.1\r\nHost: x\r\n" + more + "Content-Length: " + std::to_string(size) +
         "\r\n\r\n";
}

std::string some_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

Response answer_of(unsigned status) {
  Response response;
  response.status = status;
  return response;
}

/// A part of a memory file with these bytes.
Response file_answer(const std::string& content, std::uint64_t begin, std::uint64_t length) {
  UniqueFd file(::memfd_create("body", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), content.data(), content.size()) ==
          static_cast<ssize_t>(content.size()));
  Response response;
  response.file = std::make_shared<const FileBody>(UniqueFd{}, std::move(file), begin, length);
  return response;
}

/// All that the client is sent until nothing more comes, or the connection has ended.
std::string receive_all(SessionFixture& fixture) {
  std::string all;
  for (std::string piece = fixture.received(); !piece.empty(); piece = fixture.received()) {
    all += piece;
    fixture.run();
  }
  return all;
}

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

/// Six bytes that come by a pipe; it is empty.
Pipe answer_from_a_pipe(SessionFixture& fixture, const std::function<void()>& before = [] {}) {
  Pipe pipe = make_pipe().value();
  for (const UniqueFd* end : {&pipe.reader, &pipe.writer})
    REQUIRE(::fcntl(end->get(), F_SETFL, O_NONBLOCK) == 0);
  Response response = answer_of(200);
  response.file =
      std::make_shared<const FileBody>(UniqueFd{}, std::move(pipe.reader), 0, 6, /*is_pipe=*/true);
  before();
  fixture.reply->send(std::move(response));
  fixture.run();
  return pipe;
}

/// While it lives no descriptor can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit none{.rlim_cur = 1, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

/// While it lives the kernel lets no epoll watch anything.
class NoWatches {
 public:
  NoWatches() {
    std::vector<int> epolls;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:[eventpoll]")
        epolls.push_back(std::stoi(entry.path().filename().string()));
    }
    REQUIRE_FALSE(epolls.empty());
    const UniqueFd other(::open("/dev/null", O_RDWR | O_CLOEXEC));
    REQUIRE(other);
    for (const int number : epolls) {
      epolls_.emplace_back(number, UniqueFd(::fcntl(number, F_DUPFD_CLOEXEC, 0)));
      REQUIRE(::dup3(other.get(), number, O_CLOEXEC) == number);
    }
  }
  ~NoWatches() {
    for (const auto& [number, epoll] : epolls_) ::dup3(epoll.get(), number, O_CLOEXEC);
  }
  NoWatches(const NoWatches&) = delete;
  NoWatches& operator=(const NoWatches&) = delete;

 private:
  std::vector<std::pair<int, UniqueFd>> epolls_;
};

}  // namespace

TEST_CASE("a sink is given the whole body in its order, also what came before there was a sink") {
  SessionFixture fixture;
  Seen seen;
  const std::string body = some_text(300'000);
  fixture.send(put_of(body.size()) + body.substr(0, 1000));
  REQUIRE(fixture.reply.has_value());
  fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
  CHECK(seen.bytes == body.substr(0, 1000));
  for (std::size_t at = 1000; at < body.size(); at += 50'000) {
    CHECK(seen.finished == 0);
    fixture.send(body.substr(at, 50'000));
  }
  CHECK(seen.bytes == body);
  CHECK(seen.finished == 1);
  CHECK(seen.is_gone);
  fixture.reply->send(answer_of(201));
  CHECK(fixture.received().contains("201"));
  // The connection goes on.
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->send(answer_of(204));
  CHECK(fixture.received().contains("204"));
}

TEST_CASE("a client waits while what takes its body is full") {
  SessionFixture fixture;
  Seen seen;
  const std::string body = some_text(100'000);
  fixture.send(put_of(body.size()) + body.substr(0, 1000));
  seen.is_full = true;
  fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
  fixture.run();
  const std::string before = seen.bytes;
  fixture.send(body.substr(1000, 20'000));
  // At most what was on its way into the buffer.
  CHECK(seen.bytes.size() <= before.size() + 20'000);
  const std::string first = seen.bytes;
  fixture.send(body.substr(21'000, 20'000));
  CHECK(seen.bytes == first);
  SUBCASE("until it is not") {
    seen.is_full = false;
    REQUIRE(static_cast<bool>(seen.then));
    std::exchange(seen.then, {})();
    fixture.run();
    CHECK(seen.bytes == body.substr(0, 41'000));
    fixture.send(body.substr(41'000));
    CHECK(seen.bytes == body);
    CHECK(seen.finished == 1);
    // Its time is counted as before.
    fixture.reply->send(answer_of(201));
    CHECK(fixture.received().contains("201"));
  }
  SUBCASE("or for too long") {
    fixture.host.now += fixture.host.limits.write_time;
    fixture.session->check_time();
    CHECK(seen.is_gone);
    CHECK(fixture.received().contains("is slow"));
  }
  SUBCASE("or until it is refused") {
    fixture.reply->send(answer_of(503));
    CHECK(seen.is_gone);
    CHECK(fixture.received().contains("503"));
    REQUIRE(static_cast<bool>(seen.then));
    std::exchange(seen.then, {})();
    fixture.run();
    CHECK(seen.bytes == first);
  }
}

TEST_CASE("a request behind a body is not taken for a part of it") {
  SessionFixture fixture;
  Seen seen;
  fixture.send(put_of(4) + "bodyGET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply first = *fixture.reply;
  first.take_body(std::make_unique<SeeingSink>(seen));
  CHECK(seen.bytes == "body");
  REQUIRE(seen.finished == 1);
  first.send(answer_of(201));
  fixture.run();
  CHECK(fixture.received().contains("201"));
  fixture.reply->send(answer_of(204));
  CHECK(fixture.received().contains("204"));
}

TEST_CASE("an empty body is whole at once") {
  SessionFixture fixture;
  Seen seen;
  fixture.send(put_of(0));
  fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
  CHECK(seen.finished == 1);
}

TEST_CASE("a client is told to go on when there is a sink, and not before") {
  SessionFixture fixture;
  Seen seen;
  fixture.send(put_of(4, "Expect: 100-continue\r\n"));
  CHECK(fixture.received().empty());
  SUBCASE("it is taken") {
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    CHECK(fixture.received() == "HTTP/1.1 100 Continue\r\n\r\n");
    fixture.send("body");
    CHECK(seen.finished == 1);
  }
  SUBCASE("it is refused") {
    fixture.reply->send(answer_of(507));
    const std::string answer = fixture.received();
    CHECK(answer.contains("507"));
    CHECK(answer.contains("Connection: close"));
  }
}

TEST_CASE("a refused body is read if it is small, and ends the connection if not") {
  SessionFixture fixture;
  SUBCASE("small") {
    fixture.send(put_of(4) + "bo");
    fixture.reply->send(answer_of(507));
    fixture.send("dyGET /call HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(fixture.received().contains("507"));
    fixture.reply->send(answer_of(204));
    CHECK(fixture.received().contains("204"));
  }
  SUBCASE("large") {
    fixture.send(put_of(1 << 20) + "bo");
    fixture.reply->send(answer_of(507));
    const std::string answer = fixture.received();
    CHECK(answer.contains("507"));
    CHECK(answer.contains("Connection: close"));
  }
}

TEST_CASE("a body that does not come whole is never finished") {
  SessionFixture fixture;
  Seen seen;
  fixture.send(put_of(100) + "some");
  SUBCASE("its client goes when there is a sink") {
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    fixture.client.reset();
    fixture.run();
  }
  SUBCASE("its client goes before there is one") {
    fixture.client.reset();
    fixture.run();
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    fixture.run();
  }
  SUBCASE("it is too slow") {
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    fixture.host.now += fixture.host.limits.body_time;
    fixture.session->check_time();
    CHECK(fixture.received().contains("408"));
  }
  SUBCASE("the sink wants no more of it") {
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    seen.refuses = true;
    fixture.send("more");
    const std::string answer = fixture.received();
    CHECK(answer.contains("there is no room for it"));
    CHECK(answer.contains("Connection: close"));
  }
  CHECK(seen.is_gone);
  CHECK(seen.finished == 0);
}

TEST_CASE("the buffer of a large body is counted while the body comes") {
  SessionFixture fixture;
  Seen seen;
  const std::string body = some_text(1 << 20);
  SUBCASE("there is memory for it") {
    fixture.send(put_of(body.size()));
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    CHECK(fixture.host.body_bytes == 256 * 1024);
    for (std::size_t at = 0; at < body.size(); at += 1 << 16)
      fixture.send(body.substr(at, 1 << 16));
    REQUIRE(seen.finished == 1);
    CHECK(seen.bytes == body);
  }
  SUBCASE("its client goes") {
    fixture.send(put_of(body.size()));
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    fixture.client.reset();
    fixture.run();
  }
  SUBCASE("there is not") {
    fixture.host.body_memory = ByteCount{300 * 1024};
    fixture.host.body_bytes = 100 * 1024;
    fixture.send(put_of(body.size()));
    fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
    CHECK(fixture.received().contains("503"));
    CHECK(seen.is_gone);
    CHECK(std::exchange(fixture.host.body_bytes, 0) == 100 * 1024);
  }
  CHECK(fixture.host.body_bytes == 0);
}

TEST_CASE("a small body needs no memory that is counted") {
  SessionFixture fixture;
  Seen seen;
  fixture.send(put_of(64 * 1024));
  fixture.reply->take_body(std::make_unique<SeeingSink>(seen));
  CHECK(fixture.host.body_bytes == 0);
}

TEST_CASE("a part of a file is sent, however slowly its client reads") {
  SessionFixture fixture;
  const std::string content = some_text(3 << 20);
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->send(file_answer(content, 1000, content.size() - 2000));
  const std::string answer = receive_all(fixture);
  CHECK(answer.contains("Content-Length: " + std::to_string(content.size() - 2000) + "\r\n"));
  CHECK(body_of(answer) == content.substr(1000, content.size() - 2000));
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->send(answer_of(204));
  CHECK(fixture.received().contains("204"));
}

TEST_CASE("of a file HEAD is told the size alone") {
  SessionFixture fixture;
  fixture.send("HEAD /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->send(file_answer("content", 0, 7));
  const std::string answer = receive_all(fixture);
  CHECK(answer.contains("Content-Length: 7\r\n"));
  CHECK(body_of(answer).empty());
}

TEST_CASE(
    "a file that ends early ends the connection, so that nobody takes the part for the whole") {
  SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->send(file_answer("content", 0, 100));
  fixture.run();
  CHECK(body_of(fixture.received()) == "content");
  char more = 0;
  CHECK(::recv(fixture.client.get(), &more, 1, MSG_DONTWAIT) == 0);
}

TEST_CASE("an answer is cut off when who lent its file has gone") {
  SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  UniqueFd lender(ends[0]);
  UniqueFd file(::memfd_create("body", MFD_CLOEXEC));
  REQUIRE(::ftruncate(file.get(), 3 << 20) == 0);
  Response response;
  response.file = std::make_shared<const FileBody>(UniqueFd(ends[1]), std::move(file), 0, 3 << 20);
  const std::weak_ptr<const FileBody> held = response.file;
  fixture.reply->send(std::move(response));
  fixture.session->check_time();
  CHECK_FALSE(held.expired());
  lender.reset();
  fixture.session->check_time();
  fixture.run();
  CHECK(held.expired());
}

TEST_CASE("a client that reads no more of a file is not waited for, and the file is let go") {
  SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  Response response = file_answer(some_text(3 << 20), 0, 3 << 20);
  const std::weak_ptr<const FileBody> file = response.file;
  fixture.reply->send(std::move(response));
  CHECK_FALSE(file.expired());
  fixture.host.now += fixture.host.limits.write_time;
  fixture.session->check_time();
  fixture.run();
  CHECK(file.expired());
}

TEST_CASE("what comes out of a pipe is an answer's body, as it comes") {
  SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  Pipe pipe = answer_from_a_pipe(fixture);
  const std::string head = fixture.received();
  CHECK(head.contains("Content-Length: 6\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  const auto write = [&](const std::string& text) {
    REQUIRE(::write(pipe.writer.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
    fixture.run();
  };
  write("abc");
  CHECK(fixture.received() == "abc");
  SUBCASE("whole") {
    write("defxyz");  // no more than was said
    CHECK(fixture.received() == "def");
    fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
    fixture.reply->send(answer_of(204));
    CHECK(fixture.received().contains("204"));
  }
  SUBCASE("or cut off") {
    pipe.writer.reset();
    fixture.run();
    char more = 0;
    CHECK(::recv(fixture.client.get(), &more, 1, MSG_DONTWAIT) == 0);
  }
}

TEST_CASE("a pipe's body ends when it cannot be waited for, and nothing else does") {
  SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  std::optional<NoDescriptors> no_descriptors;
  std::optional<NoWatches> no_watches;
  std::function<void()> before;
  SUBCASE("no descriptor is left") {
    before = [&] { no_descriptors.emplace(); };
  }
  SUBCASE("the kernel refuses to watch it") {
    before = [&] { no_watches.emplace(); };
  }
  const Pipe pipe = answer_from_a_pipe(fixture, before);
  no_descriptors.reset();
  no_watches.reset();
  CHECK(fixture.received().contains("Content-Length: 6\r\n"));
  char more = 0;
  CHECK(::recv(fixture.client.get(), &more, 1, MSG_DONTWAIT) == 0);
  pollfd writer{.fd = pipe.writer.get(), .events = 0, .revents = 0};
  CHECK(::poll(&writer, 1, 0) == 1);
  CHECK((writer.revents & POLLERR) != 0);  // who writes the body is told
}

TEST_CASE("programs that are started while a pipe's body is waited for do not hold it") {
  SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  const Pipe pipe = answer_from_a_pipe(fixture);
  struct stat of_pipe{};
  REQUIRE(::fstat(pipe.writer.get(), &of_pipe) == 0);
  int readers = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename().string());
    struct stat status{};
    if (number == pipe.writer.get() || ::fstat(number, &status) != 0) continue;
    if (status.st_dev != of_pipe.st_dev || status.st_ino != of_pipe.st_ino) continue;
    ++readers;
    CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(readers == 2);  // the body's own, and the one that waits
}

}  // namespace orchid::gateway
