#include "transport/ucx_lane.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>

#include "ucx/frame.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;

}  // namespace

TEST_CASE("a call carries its header and its bytes both ways, whatever their size") {
  for (const std::size_t size : {0UL, 1UL, 8UL, 64UL, 65UL, 1024UL, 4096UL, 6144UL, 6145UL,
                                 100'000UL, 1UL << 20, 64UL << 20}) {
    CAPTURE(size);
    Lane lane = make({80_MiB, 80_MiB});
    const auto input = pattern(size, 1);
    const auto id = send(lane.client, input);
    CHECK(id == 1);
    const auto request = next_call(lane);
    REQUIRE(request.has_value());
    CHECK(request->header.slot == 3);
    CHECK(request->header.generation == 7);
    CHECK(request->header.entry == 1);
    CHECK(request->header.deadline_ns == 5'000'000'000);
    CHECK(same(request->input, input));
    if (size != 0) std::memcpy(lane.worker.output(size), request->input.data(), size);
    REQUIRE(lane.worker.answer({.run_time = 42ns}).has_value());
    const auto response = next_answer(lane);
    REQUIRE(response.has_value());
    CHECK(response->request_id == id);
    CHECK(response->outcome == Outcome::ok);
    CHECK(response->run_time == 42ns);
    CHECK(same(response->payload, input));
    lane.client.release(*response);
    CHECK(lane.client.in_flight() == 0);
  }
}
TEST_CASE("a payload of one GiB goes there and back" * doctest::skip(!has_memory(5_GiB))) {
  Lane lane = make({1_GiB, 1_GiB});
  const auto room = lane.client.allocate(1_GiB .value).value();
  const auto block = pattern(1 << 20, 4);
  for (std::size_t at = 0; at < room.size(); at += block.size())
    std::memcpy(&room[at], block.data(), block.size());
  send(lane.client, room);
  const auto request = next_call(lane);
  REQUIRE(request.has_value());
  CHECK(same(request->input, room));
  answer_with_input(lane.worker, *request);
  const auto response = next_answer(lane);
  REQUIRE(response.has_value());
  CHECK(same(response->payload, room));
  lane.client.release(*response);
  lane.client.trim();
}

TEST_CASE("the output can grow and keeps what was written; logs and messages travel with it") {
  Lane lane = make();
  send(lane.client, {});
  REQUIRE(next_call(lane).has_value());
  std::memcpy(lane.worker.output(8), "12345678", 8);
  std::byte* larger = lane.worker.output(100'000);
  REQUIRE(larger != nullptr);
  CHECK(std::memcmp(larger, "12345678", 8) == 0);
  CHECK(lane.worker.output(2_MiB .value) == nullptr);
  CHECK(lane.worker.output(5) == larger);
  const std::string log(200'000, 'x');
  REQUIRE(lane.worker.answer({.log = log, .log_dropped = 5}).has_value());
  const auto first = next_answer(lane);
  REQUIRE(first.has_value());
  CHECK(text_of(first->payload) == "12345");
  CHECK(first->log == log);
  CHECK(first->log_dropped == 5);

  send(lane.client, {});
  REQUIRE(next_call(lane).has_value());
  REQUIRE(lane.worker.answer({.outcome = Outcome::function_error, .message = "no such thing"})
              .has_value());
  const auto second = next_answer(lane);
  REQUIRE(second.has_value());
  CHECK(second->outcome == Outcome::function_error);
  CHECK(second->payload_is_message);
  CHECK(text_of(second->payload) == "no such thing");
  lane.client.release(*second);  // in any order
  lane.client.release(*first);
}

TEST_CASE("a stream is a conversation of entries, each answered once and in its order") {
  Lane lane = make();
  const auto first = lane.client.send({.slot = 3, .generation = 7, .flags = flag_stream}).value();
  const auto content = pattern(100'000, 1);
  CHECK(lane.client.send({.input = content, .kind = RequestKind::more}).value() == first + 1);
  CHECK(lane.client.send({.kind = RequestKind::more, .flags = flag_last}).value() == first + 2);
  const auto begun = next_call(lane);
  REQUIRE(begun.has_value());
  CHECK(begun->header.flags == flag_stream);
  REQUIRE(lane.worker.answer({.kind = ResponseKind::chunk}).has_value());
  CHECK(next_answer(lane)->kind == ResponseKind::chunk);
  const auto second = next_call(lane);
  REQUIRE(second.has_value());
  CHECK(second->header.kind == static_cast<std::uint8_t>(RequestKind::more));
  CHECK(same(second->input, content));
  std::memcpy(lane.worker.output(content.size()), second->input.data(), content.size());
  REQUIRE(lane.worker.answer({.kind = ResponseKind::chunk}).has_value());
  const auto chunk = next_answer(lane);
  REQUIRE(chunk.has_value());
  CHECK(chunk->kind == ResponseKind::chunk);
  CHECK(same(chunk->payload, content));
  REQUIRE(next_call(lane).has_value());
  REQUIRE(lane.worker.answer({.log = "said"}).has_value());
  const auto reply = next_answer(lane);
  REQUIRE(reply.has_value());
  CHECK(reply->kind == ResponseKind::reply);
  CHECK(reply->log == "said");
}

TEST_CASE("only what belongs to a stream may be answered by a chunk") {
  for (const ResponseKind kind : {ResponseKind::chunk, ResponseKind::discarded}) {
    Lane lane = make();
    send(lane.client, {});
    REQUIRE(next_call(lane).has_value());
    REQUIRE(lane.worker.answer({.kind = kind}).has_value());
    CHECK(end_of(lane.client).code == ErrorCode::bad_request);
  }
}

TEST_CASE("an entry of an unknown kind, or with flags that it cannot have, ends the lane") {
  for (const LaneCall& call : {LaneCall{.kind = RequestKind{0}}, LaneCall{.kind = RequestKind{4}},
                               LaneCall{.flags = flag_log}, LaneCall{.flags = flag_last},
                               LaneCall{.kind = RequestKind::more, .flags = flag_stream}}) {
    Lane lane = make();
    REQUIRE(lane.client.send(call).has_value());
    Result<std::optional<LaneRequest>> request = std::optional<LaneRequest>{};
    for (const auto end = in(20s); request && std::chrono::steady_clock::now() < end;) {
      request = lane.worker.receive();
      (void)lane.client.receive();
    }
    REQUIRE_FALSE(request.has_value());
    CHECK(request.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("255 calls may be in flight, and no more until an answer is released") {
  Lane lane = make();
  for (unsigned i = 0; i < 255; ++i) send(lane.client, pattern(8 + i, i));
  const auto refused = lane.client.send({});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::no_capacity);
  for (unsigned i = 0; i < 255; ++i) {
    const auto request = next_call(lane);
    REQUIRE(request.has_value());
    CHECK(same(request->input, pattern(8 + i, i)));
    answer_with_input(lane.worker, *request);
  }
  const auto response = next_answer(lane);
  REQUIRE(response.has_value());
  CHECK_FALSE(lane.client.send({}).has_value());
  lane.client.release(*response);
  CHECK(lane.client.send({}).has_value());
}

TEST_CASE("large and small calls keep their order, and neither end grows") {
  Lane lane = make({4_MiB, 4_MiB});
  std::mt19937 random(7);
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::vector<std::vector<std::byte>> inputs(2000);
  std::optional<LaneRequest> unanswered;
  const auto end = in(60s);
  while (answered < inputs.size() && std::chrono::steady_clock::now() < end) {
    while (asked < inputs.size()) {
      if (inputs[asked].empty())
        inputs[asked] = pattern(random() % 3 == 0 ? random() % 1'000'000 : 1 + random() % 5000,
                                static_cast<unsigned>(asked));
      const auto sent = lane.client.send({.input = inputs[asked]});
      if (!sent) {
        REQUIRE(sent.error().code == ErrorCode::no_capacity);
        break;
      }
      ++asked;
    }
    if (!unanswered) {
      const auto request = lane.worker.receive();
      REQUIRE_MESSAGE(request.has_value(), request.error().message);
      unanswered = *request;
    }
    if (unanswered && try_to_answer_with_input(lane.worker, *unanswered)) unanswered.reset();
    const auto response = lane.client.receive();
    REQUIRE_MESSAGE(response.has_value(), response.error().message);
    if (!*response) continue;
    REQUIRE((*response)->request_id == answered + 1);
    REQUIRE(same((*response)->payload, inputs[answered]));
    lane.client.release(**response);
    ++answered;
  }
  CHECK(answered == inputs.size());
}

TEST_CASE("an input written in place is not copied, and abandoned room is free again") {
  Lane lane = make();
  for (int i = 0; i < 10; ++i) {
    const auto room = lane.client.allocate(900'000).value();
    CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % 64 == 0);
    CHECK(lane.client.allocate(900'000).error().code == ErrorCode::no_capacity);
    lane.client.abandon(room);
  }
  CHECK(lane.client.allocate(2_MiB .value).error().code == ErrorCode::too_large);
}

TEST_CASE("a sleeping end wakes up for a call, for an answer and for the other's death") {
  Child worker = Child::start_worker(serve_asleep);
  UcxLaneClient client = worker.connect();
  for (int i = 0; i < 20; ++i) {
    const auto input = pattern(i % 2 == 0 ? 8 : 3 << 20, static_cast<unsigned>(i));
    send(client, input);
    const auto response = answer_asleep(client);
    REQUIRE(response.has_value());
    CHECK(same(response->payload, input));
    client.release(*response);
  }
  worker.kill();
  const auto lost = end_of(client);
  CHECK(lost.code == ErrorCode::unreachable);
  CHECK(lost.message.find('\n') == std::string::npos);
}

TEST_CASE("a worker that is killed in the middle of a large transfer is noticed at once") {
  Child worker = Child::start_worker(serve_asleep);
  UcxLaneClient client = worker.connect();
  const auto input = pattern(60 << 20, 1);
  send(client, input);
  (void)client.receive();
  worker.kill();
  const auto start = std::chrono::steady_clock::now();
  CHECK(end_of(client).code == ErrorCode::unreachable);
  CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("an end of a lane after which nothing is missing is told from one that has broken") {
  Child sound = Child::start_worker(serve_asleep);
  UcxLaneClient client = sound.connect();
  send(client, pattern(3 << 20, 1));
  REQUIRE(answer_asleep(client).has_value());
  CHECK_FALSE(client.is_at_end());
  sound.kill();
  CHECK(end_of(client).code == ErrorCode::unreachable);
  CHECK(client.is_at_end());

  Child stopped = Child::start_worker(serve_asleep);
  UcxLaneClient other = stopped.connect();
  ::kill(stopped.pid(), SIGSTOP);
  send(other, pattern(8, 1));  // what it has not read, the kernel throws away with a reset
  CHECK_FALSE(other.receive().value().has_value());
  stopped.kill();
  CHECK(end_of(other).code == ErrorCode::unreachable);
  CHECK_FALSE(other.is_at_end());
}

TEST_CASE("what was answered has left when it is flushed, however much it is") {
  Lane lane = make({64_MiB, 64_MiB});
  const auto input = pattern(40 << 20, 1);
  send(lane.client, input);
  const auto request = next_call(lane);
  REQUIRE(request.has_value());
  answer_with_input(lane.worker, *request);
  SUBCASE("to a client that reads") {
    auto answer = std::async(std::launch::async, [&] { return answer_asleep(lane.client); });
    CHECK(lane.worker.flush().has_value());
    const auto response = answer.get();
    REQUIRE(response.has_value());
    CHECK(same(response->payload, input));
  }
  SUBCASE("to a client that does not, for so long") {
    CHECK(lane.worker.flush().error().code == ErrorCode::timed_out);
  }
}

TEST_CASE(
    "an answer that is flushed arrives though its client rests, and its worker is gone then") {
  for (const std::size_t size : {8, 5'000, 32'000}) {
    CAPTURE(size);
    Lane lane = make();
    const auto input = pattern(size, 1);
    send(lane.client, input);
    const auto request = next_call(lane);
    REQUIRE(request.has_value());
    answer_with_input(lane.worker, *request);
    CHECK(lane.worker.flush().has_value());  // nobody drives the client's end
    CHECK(lane.worker.flush().has_value());
    std::optional<UcxLaneWorker> gone(std::move(lane.worker));
    gone.reset();
    const auto response = answer_asleep(lane.client);
    REQUIRE(response.has_value());
    CHECK(same(response->payload, input));
    lane.client.release(*response);
    CHECK(end_of(lane.client).code == ErrorCode::unreachable);
    CHECK(lane.client.is_at_end());
  }
}

TEST_CASE("a client that is killed in the middle of a large transfer ends the worker") {
  Child worker = Child::start_worker([](const Child::Job& job) {
    UcxContext own = UcxContext::create({.devices = "lo"}).value();
    auto lane = listen_and_report(own, job).accept(in(20s));
    if (!lane) ::_exit(1);
    for (const auto end = in(20s); std::chrono::steady_clock::now() < end;)
      if (auto request = lane->receive(); !request)
        ::_exit(request.error().code == ErrorCode::unreachable ? 42 : 2);
  });
  Child client = Child::start_client(
      [](const Child::Job& job) {
        UcxContext own = UcxContext::create({.devices = "lo"}).value();
        auto lane = UcxLaneClient::connect(
            own, {.address = job.address, .key = job.key, .deadline = in(10s)});
        if (!lane) ::_exit(1);
        send(*lane, pattern(60 << 20, 1));
        ::raise(SIGKILL);
      },
      worker);
  CHECK(WIFSIGNALED(client.wait()));
  const int status = worker.wait();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("only the right key is let in, and silent peers do not keep it out") {
  const ConnectionKey key = random_key();
  auto listener = UcxLaneListener::listen(context(), {.address = "127.0.0.1", .key = key}).value();
  const std::vector<UniqueFd> silent = silent_connections(listener.port(), 40);
  auto worker = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
  const auto wrong = UcxLaneClient::connect(
      context(), {.address = listener.address(), .key = random_key(), .deadline = in(5s)});
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().code == ErrorCode::unreachable);
  const auto right = UcxLaneClient::connect(
      context(), {.address = listener.address(), .key = key, .deadline = in(5s)});
  CHECK_MESSAGE(right.has_value(), right.error().message);
  CHECK(worker.get().has_value());
}

TEST_CASE("a client of another version learns which one the worker speaks") {
  const ConnectionKey key = random_key();
  auto listener = UcxLaneListener::listen(context(), {.address = "127.0.0.1", .key = key}).value();
  auto worker = std::async(std::launch::async, [&] { return listener.accept(in(500ms)); });
  const auto answer = say_hello(listener.port(), 7, key);
  REQUIRE(answer.size() == 32);
  CHECK(text_of(answer).substr(0, 8) == "ORCHLANE");
  CHECK(answer[8] == std::byte{lane_version});
  CHECK(worker.get().error().code == ErrorCode::timed_out);
}

TEST_CASE("a worker of another version is told from a broken one, with both versions") {
  const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{.sin_family = AF_INET,
                  .sin_port = 0,
                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                  .sin_zero = {}};
  socklen_t size = sizeof(own);
  REQUIRE(::bind(listening.get(), reinterpret_cast<sockaddr*>(&own), size) == 0);
  REQUIRE(::listen(listening.get(), 1) == 0);
  REQUIRE(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0);
  const std::string address = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  const auto speaks = [&](std::span<const std::byte> welcome) {
    auto worker = std::async(std::launch::async, [&] {
      pollfd called{.fd = listening.get(), .events = POLLIN, .revents = 0};
      REQUIRE(::poll(&called, 1, 5000) == 1);
      const UniqueFd peer(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::array<std::byte, 32> hello{};
      REQUIRE(::recv(peer.get(), hello.data(), hello.size(), MSG_WAITALL) == 32);
      REQUIRE(::send(peer.get(), welcome.data(), welcome.size(), MSG_NOSIGNAL) > 0);
      // Until it has gone: to hang up on what was not read would take the welcome back.
      while (::recv(peer.get(), hello.data(), hello.size(), 0) > 0) {
      }
    });
    auto client = UcxLaneClient::connect(
        context(), {.address = address, .key = random_key(), .deadline = in(5s)});
    worker.get();
    REQUIRE_FALSE(client.has_value());
    return client.error();
  };
  std::array<std::byte, 32> welcome{};
  std::memcpy(welcome.data(), "ORCHLANE", 8);
  welcome[8] = std::byte{7};
  const Failure other = speaks(welcome);
  CHECK(other.code == ErrorCode::unsupported);
  CHECK(other.message.find("version 7") != std::string::npos);
  CHECK(other.message.find("version " + std::to_string(lane_version)) != std::string::npos);
  std::memcpy(welcome.data(), "HTTP/1.1", 8);
  CHECK(speaks(welcome).code == ErrorCode::bad_request);
  std::memcpy(welcome.data(), "ORCHLANE", 8);
  welcome[8] = std::byte{lane_version};  // of the right version, and with a lane of no bytes
  CHECK(speaks(welcome).code == ErrorCode::bad_request);
}

TEST_CASE("without UCX's library the error names the package that has it") {
  Child child = Child::start_client(
      [](const Child::Job&) {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
          ::_exit(77);
        // As on a host that does not have it: an empty file is no library either.
        bool hidden = false;
        for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"})
          hidden = ::mount("/dev/null", (std::string(folder) + "/libucp.so.0").c_str(), nullptr,
                           MS_BIND, nullptr) == 0 ||
                   hidden;
        if (!hidden) ::_exit(77);
        const auto loaded = load_ucx();
        const auto made = UcxContext::create({.devices = "lo"});
        const bool told = !loaded && loaded.error().code == ErrorCode::unsupported &&
                          loaded.error().message.find("libucx0") != std::string::npos &&
                          loaded.error().message.find('\n') == std::string::npos;
        ::_exit(told && !made && made.error().message == loaded.error().message ? 42 : 1);
      },
      {});
  const int status = child.wait();
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    MESSAGE("no mount namespace is permitted here");
    return;
  }
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("a program that this process starts inherits no connection of a lane") {
  const auto inherited = [] {
    std::map<int, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(entry.path().filename());
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (const int flags = ::fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) == 0)
        found.emplace(fd, target);
    }
    return found;
  };
  const auto before = inherited();
  Lane lane = make();
  for (const auto& [fd, target] : inherited()) {
    if (before.contains(fd)) continue;
    CAPTURE(fd);
    // UCX's own pipes, eventfds and epolls are: nobody outside can be reached with them, and they
    // cannot be told for certain from what other threads have just made.
    CHECK_FALSE_MESSAGE(target.starts_with("socket:"), target);
  }
  CHECK((::fcntl(lane.client.wake_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(lane.worker.wake_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("waiting for a client ends at the deadline, or when it is told to") {
  auto listener = UcxLaneListener::listen(context(), {.address = "127.0.0.1"}).value();
  CHECK(listener.accept(in(20ms)).error().code == ErrorCode::timed_out);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd stop(ends[0]);
  UniqueFd(ends[1]).reset();
  CHECK(listener.accept(in(10s), stop.get()).error().code == ErrorCode::cancelled);
}

TEST_CASE("after the wire-up a worker needs no call that opens, connects, accepts or forks") {
  static constexpr auto confined = [](const Child::Job& job, bool sleeps) {
    UcxContext own = UcxContext::create({.devices = "lo"}).value();
    auto worker = listen_and_report(own, job).accept(in(20s));
    if (!worker || !forbid_new_things()) ::_exit(1);
    serve(*worker, sleeps);
  };
  for (const Child::Life life :
       {Child::Life(+[](const Child::Job& job) { confined(job, true); }),
        Child::Life(+[](const Child::Job& job) { confined(job, false); })}) {
    Child worker = Child::start_worker(life);
    UcxLaneClient client = worker.connect();
    for (const std::size_t size : {8UL, 4096UL, 100'000UL, 1UL << 20, 64UL << 20, 8UL}) {
      const auto input = pattern(size, 1);
      send(client, input);
      const auto response = answer_asleep(client);
      REQUIRE(response.has_value());
      CHECK(same(response->payload, input));
      client.release(*response);
    }
  }
}

TEST_CASE("when a lane is up, nothing of its worker listens any more") {
  Child worker = Child::start_worker(serve_asleep);
  UcxLaneClient client = worker.connect();
  CHECK(listening_ports(worker.pid()).empty());
  send(client, {});
  CHECK(answer_asleep(client).has_value());
  CHECK(listening_ports(::getpid()).empty());
}

TEST_CASE("loading UCX changes neither the environment nor signal handlers") {
  Child child = Child::start_client(
      [](const Child::Job&) {
        struct sigaction own{};
        own.sa_handler = [](int) {};
        ::sigaction(SIGSEGV, &own, nullptr);
        const auto before = handlers();
        const auto variables = environment();
        auto made = UcxContext::create({.devices = "lo"});
        ::_exit(made && handlers() == before && environment() == variables ? 42 : 1);
      },
      {});
  const int status = child.wait();
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("10 000 large messages leak neither memory nor descriptors") {
  Lane lane = make({4_MiB, 4_MiB});
  const auto input = pattern(200'000, 1);
  const auto turn = [&](int count) {
    for (int i = 0; i < count; ++i) {
      send(lane.client, input);
      const auto request = next_call(lane);
      REQUIRE(request.has_value());
      answer_with_input(lane.worker, *request);
      const auto response = next_answer(lane);
      REQUIRE(response.has_value());
      lane.client.release(*response);
    }
  };
  turn(500);
  const Usage before = Usage::now();
  turn(10'000);
  const Usage after = Usage::now();
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.resident_kib < before.resident_kib + 1024);
}

TEST_CASE("a lane leaves no descriptors behind") {
  (void)make();
  const Usage before = Usage::now();
  for (int i = 0; i < 5; ++i) (void)make();
  CHECK(Usage::now().descriptors == before.descriptors);
}

}  // namespace orchid::transport
