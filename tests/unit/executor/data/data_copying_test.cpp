// Copies by real processes, between two executors' books in this process.
#include "data/data_copying.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "children/child_watch.h"
#include "data/copy_end.h"
#include "event_loop.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "foundation/pipe.h"
#include "foundation/random.h"
#include "protocol/control_messages.h"

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t key_size = 16;
const std::string secret(64, 'a');

std::vector<std::byte> copied_pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 2'654'435'761U) >> 13U);
  return bytes;
}

/// An executor's part that keeps data, and what it has told its gateway.
struct CopyHost {
  CopyHost(boost::asio::io_context& io, ChildWatch& children, const std::string& program,
           const std::string& listen = "127.0.0.1")
      : data(io, {.budget = 1_GiB, .per_tenant = 1_GiB}),
        copying(io, children, data, {.program = program, .listen = listen},
                [this](const ControlMessage& message) { said.push_back(message); }) {
    data.set_handlers({[this](const ControlMessage& message) { said.push_back(message); },
                       [this](const DataId& id) { copying.dropped(id); }});
  }
  template <typename Message>
  [[nodiscard]] std::optional<Message> take() {
    for (auto at = said.begin(); at != said.end(); ++at)
      if (const auto* message = std::get_if<Message>(&*at)) {
        Message taken = *message;
        said.erase(at);
        return taken;
      }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::byte> bytes_of(const DataId& id) {
    auto opened = data.open({.data = id, .secret = secret, .access = DataAccess::read}, 0);
    REQUIRE_MESSAGE(opened.has_value(), opened.error().message);
    const auto file = MappedFile::map(opened->file.get(), {.limit = opened->bytes}).value();
    data.stop_reading(id);
    return {file.bytes().begin(), file.bytes().end()};
  }

  DataService data;
  DataCopying copying;
  std::deque<ControlMessage> said;
};

struct TwoHosts : test::EventLoop {
  explicit TwoHosts(const std::string& program = COPY_PROGRAM)
      : from(io, children, program), to(io, children, program), other(io, children, program) {
    log::configure("unit_executor_copies", LogLevel::error);
  }
  template <typename Message>
  Message await(CopyHost& host) {
    std::optional<Message> message;
    run_until([&] {
      message = host.take<Message>();
      return message.has_value();
    });
    return *message;
  }
  static MakeData room(const DataId& id, std::uint64_t bytes, bool is_copy) {
    MakeData make{
        .data = id,
        .terms = {.tenant = {1000, "ada"}, .bytes = ByteCount{bytes}, .name = {}, .secret = secret},
        .write_within = seconds(60)};
    if (is_copy) make.created_ago = seconds(100);
    return make;
  }
  /// A sealed object there.
  void put(CopyHost& host, const DataId& id, const std::vector<std::byte>& bytes) {
    host.data.obey(room(id, bytes.size(), false));
    (void)await<DataMade>(host);
    {
      auto opened = host.data.open({.data = id, .secret = secret, .access = DataAccess::write}, 0);
      REQUIRE(opened.has_value());
      REQUIRE(::pwrite(opened->file.get(), bytes.data(), bytes.size(), 0) ==
              static_cast<ssize_t>(bytes.size()));
    }
    host.data.obey(SealData{id});
    (void)await<DataSealed>(host);
  }
  void make_room(const DataId& id, std::uint64_t bytes) {
    to.data.obey(room(id, bytes, true));
    (void)await<DataMade>(to);
  }
  /// As the gateway does: the sender's address, then the receiver's order.
  void begin(CopyHost& sender, const DataId& id, std::uint64_t transfer,
             const std::string& key = random_hex(key_size)) {
    sender.copying.obey(OfferData{id, transfer, key, seconds(30)});
    const auto offered = await<DataOffered>(sender);
    CHECK(offered.transfer == transfer);
    to.copying.obey(FetchData{id, transfer, key, offered.address, seconds(30)});
  }
  /// Bytes of the room that have pages.
  [[nodiscard]] std::uint64_t written(const DataId& id) {
    const auto room = to.data.open_for_copy(id).value();
    to.data.leave(id);
    struct stat status{};
    REQUIRE(::fstat(room.file.get(), &status) == 0);
    constexpr std::uint64_t block = 512;
    return block * static_cast<std::uint64_t>(status.st_blocks);
  }
  /// Until the first byte is there, and not much longer.
  void run_until_written(const DataId& id) {
    const auto give_up = std::chrono::steady_clock::now() + seconds(30);
    while (written(id) == 0) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.restart();
      io.poll();
    }
  }
  /// Its first byte.
  void write(const DataId& id, std::byte byte) {
    const auto room = to.data.open_for_copy(id).value();
    to.data.leave(id);
    REQUIRE(::pwrite(room.file.get(), &byte, 1, 0) == 1);
  }
  /// The processes that copy, of this one.
  [[nodiscard]] std::vector<pid_t> processes() const { return children.pids(); }

  ChildWatch children{io};
  CopyHost from;
  CopyHost to;
  CopyHost other;
};

/// Of a process that runs; nothing: it has ended.
std::optional<std::string> status_field(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return line.substr(name.size() + 1);
  return std::nullopt;
}

}  // namespace

TEST_CASE("an object is copied by two processes, sealed there, and as old as it was") {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1} << 20, (std::size_t{20} << 20) + 7}) {
    CAPTURE(size);
    TwoHosts world;
    const DataId id = make_data_id();
    const auto bytes = copied_pattern(size);
    world.put(world.from, id, bytes);
    world.make_room(id, size);
    world.begin(world.from, id, 1);
    CHECK(world.await<DataFetched>(world.to).transfer == 1);
    world.run_until([&] { return world.from.copying.under_way() == 0; });
    world.to.data.obey(SealData{id});
    CHECK(world.await<DataSealed>(world.to).bytes.value == size);
    CHECK(world.to.bytes_of(id) == bytes);
    const auto held = world.to.data.introduce();
    REQUIRE(held.size() == 1);
    CHECK(held.front().created_ago >= seconds(100));
    CHECK(world.children.watched() == 0);
    // Nobody has it any more but the books: it can go.
    world.from.data.obey(DropData{id});
    CHECK(world.from.data.book().used() == ByteCount{});
  }
}

TEST_CASE("when the sender's process is killed, another holder's goes on") {
  TwoHosts world;
  const DataId id = make_data_id();
  const auto bytes = copied_pattern(std::size_t{200} << 20);
  world.put(world.from, id, bytes);
  world.put(world.other, id, bytes);
  world.make_room(id, bytes.size());
  world.begin(world.from, id, 1);
  // Both ends are there; the one that was started first sends.
  auto processes = world.processes();
  std::ranges::sort(processes);
  REQUIRE(processes.size() == 2);
  ::kill(processes.front(), SIGKILL);
  const auto broken = world.await<DataNotFetched>(world.to);
  CHECK(broken.transfer == 1);
  CHECK(broken.have.value < bytes.size());
  CHECK(world.await<DataNotOffered>(world.from).message.find("ended") != std::string::npos);
  world.begin(world.other, id, 2);
  CHECK(world.await<DataFetched>(world.to).transfer == 2);
  world.to.data.obey(SealData{id});
  (void)world.await<DataSealed>(world.to);
  CHECK(world.to.bytes_of(id) == bytes);
}

TEST_CASE("when the receiver's process is killed, the copy is begun again in the same room") {
  TwoHosts world;
  const DataId id = make_data_id();
  const auto bytes = copied_pattern(std::size_t{50} << 20);
  world.put(world.from, id, bytes);
  world.make_room(id, bytes.size());
  world.begin(world.from, id, 1);
  auto processes = world.processes();
  std::ranges::sort(processes);
  ::kill(processes.back(), SIGKILL);
  CHECK(world.await<DataNotFetched>(world.to).code == ErrorCode::unreachable);
  world.begin(world.from, id, 2);
  (void)world.await<DataFetched>(world.to);
  world.to.data.obey(SealData{id});
  (void)world.await<DataSealed>(world.to);
  CHECK(world.to.bytes_of(id) == bytes);
}

TEST_CASE("a fetch that is told to end says what it has, and the next one goes on there") {
  // Until one is caught in the middle.
  constexpr int most_attempts = 20;
  std::uint64_t had = 0;
  for (int attempt = 0; had == 0 && attempt < most_attempts; ++attempt) {
    TwoHosts world;
    const DataId id = make_data_id();
    auto bytes = copied_pattern(std::size_t{300} << 20);
    world.put(world.from, id, bytes);
    world.put(world.other, id, bytes);
    world.make_room(id, bytes.size());
    world.begin(world.from, id, 1);
    world.run_until_written(id);
    world.to.copying.obey(EndDataTransfer{id, 1});
    world.run_until([&] { return world.to.copying.under_way() == 0; });
    const auto stopped = world.to.take<DataNotFetched>();
    if (!stopped) continue;  // it was done
    CHECK(stopped->code == ErrorCode::cancelled);
    had = stopped->have.value;
    CHECK(had < bytes.size());
    if (had == 0) continue;
    // What is there is not fetched again, so that it stays what it is now.
    bytes[0] ^= std::byte{0xff};
    world.write(id, bytes[0]);
    world.begin(world.other, id, 2);
    CHECK(world.await<DataFetched>(world.to).transfer == 2);
    world.to.data.obey(SealData{id});
    (void)world.await<DataSealed>(world.to);
    CHECK(world.to.bytes_of(id) == bytes);
  }
  CHECK(had != 0);
}

TEST_CASE("a fetch from somebody who never answers ends when it is told to") {
  TwoHosts world;
  const UniqueFd mute(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(mute.get(), any, size) == 0);
  REQUIRE(::listen(mute.get(), 1) == 0);
  REQUIRE(::getsockname(mute.get(), any, &size) == 0);
  const DataId id = make_data_id();
  world.make_room(id, 10);
  world.to.copying.obey(FetchData{id, 1, std::string(32, 'a'),
                                  "127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                                  seconds(3600)});
  world.to.copying.obey(EndDataTransfer{id, 1});
  const auto ended = world.await<DataNotFetched>(world.to);
  CHECK(ended.have == ByteCount{});
  CHECK(world.children.watched() == 0);
}

TEST_CASE("a room is fetched into by one process at a time") {
  TwoHosts world;
  const DataId id = make_data_id();
  const auto bytes = copied_pattern(std::size_t{100} << 20);
  world.put(world.from, id, bytes);
  world.make_room(id, bytes.size());
  world.begin(world.from, id, 1);
  world.to.copying.obey(FetchData{id, 2, std::string(32, 'b'), "127.0.0.1:1", seconds(5)});
  const auto refused = world.to.take<DataNotFetched>();
  REQUIRE(refused.has_value());
  CHECK(refused->transfer == 2);
  CHECK(refused->code == ErrorCode::conflict);
  CHECK(world.await<DataFetched>(world.to).transfer == 1);
}

TEST_CASE("a copy whose object is deleted ends at both ends, and gives all memory back") {
  TwoHosts world;
  const DataId id = make_data_id();
  const auto bytes = copied_pattern(std::size_t{100} << 20);
  world.put(world.from, id, bytes);
  world.make_room(id, bytes.size());
  world.begin(world.from, id, 1);
  world.from.data.obey(DropData{id});
  world.to.data.obey(DropData{id});
  // The processes have it mapped yet, and are waited for.
  CHECK(world.from.data.book().used().value == bytes.size());
  CHECK(world.to.data.book().used().value == bytes.size());
  CHECK(world.children.watched() == 2);
  world.run_until([&] { return world.children.watched() == 0; });
  CHECK(world.from.copying.under_way() == 0);
  CHECK(world.to.copying.under_way() == 0);
  CHECK(world.from.data.book().used() == ByteCount{});
  CHECK(world.to.data.book().used() == ByteCount{});
  CHECK_FALSE(world.from.take<DataNotOffered>().has_value());
  CHECK_FALSE(world.to.take<DataNotFetched>().has_value());
  // A late word about it is about nothing.
  world.to.copying.obey(EndDataTransfer{id, 1});
  world.from.copying.obey(EndDataTransfer{id, 1});
}

TEST_CASE("a sender for whom nobody comes, or somebody with another key, gives up in time") {
  TwoHosts world;
  const DataId id = make_data_id();
  world.put(world.from, id, copied_pattern(1000));
  world.from.copying.obey(OfferData{id, 1, std::string(32, 'a'), milliseconds(700)});
  const auto offered = world.await<DataOffered>(world.from);
  world.make_room(id, 1000);
  world.to.copying.obey(FetchData{id, 1, std::string(32, 'b'), offered.address, seconds(10)});
  CHECK(world.await<DataNotFetched>(world.to).code == ErrorCode::unreachable);
  CHECK(world.await<DataNotOffered>(world.from).code == ErrorCode::timed_out);
  world.run_until([&] { return world.children.watched() == 0; });
}

TEST_CASE("what cannot be copied is refused with the reason") {
  TwoHosts world;
  const DataId id = make_data_id();
  const std::string key(32, 'a');
  world.from.copying.obey(OfferData{id, 1, key, seconds(5)});
  CHECK(world.await<DataNotOffered>(world.from).code == ErrorCode::data_lost);
  world.to.copying.obey(FetchData{id, 1, key, "127.0.0.1:1", seconds(5)});
  CHECK(world.await<DataNotFetched>(world.to).code == ErrorCode::not_found);
  // A client's room, and one that nobody listens for.
  world.to.data.obey(TwoHosts::room(id, 10, false));
  world.to.copying.obey(FetchData{id, 2, key, "127.0.0.1:1", seconds(5)});
  CHECK(world.await<DataNotFetched>(world.to).code == ErrorCode::conflict);
  const DataId copy = make_data_id();
  world.make_room(copy, 10);
  world.to.copying.obey(FetchData{copy, 3, key, "127.0.0.1:1", seconds(5)});
  CHECK(world.await<DataNotFetched>(world.to).code == ErrorCode::unreachable);
  // Nobody else writes into the room of a copy.
  const auto opened = world.to.data.open({copy, secret, DataAccess::write}, 0);
  CHECK(opened.error().code == ErrorCode::conflict);

  TwoHosts broken("/nowhere/orchid-copy");
  broken.put(broken.from, id, copied_pattern(10));
  broken.from.copying.obey(OfferData{id, 1, key, seconds(5)});
  CHECK(broken.await<DataNotOffered>(broken.from).message.find("/nowhere/orchid-copy") !=
        std::string::npos);
  broken.from.data.obey(DropData{id});
  CHECK(broken.from.data.book().used() == ByteCount{});
}

TEST_CASE("an executor without an address for other hosts sends nothing") {
  TwoHosts world;
  CopyHost hidden(world.io, world.children, COPY_PROGRAM, "");
  const DataId id = make_data_id();
  world.put(hidden, id, copied_pattern(10));
  hidden.copying.obey(OfferData{id, 1, std::string(32, 'a'), seconds(5)});
  CHECK(world.await<DataNotOffered>(hidden).message.find("--lane-listen") != std::string::npos);
}

namespace {

/// What a gateway has on its host: a process, and our end of the pipe to it or from it.
struct GatewayEnd {
  GatewayEnd(TwoHosts& world, bool is_push)
      : process({.io = world.io, .children = world.children, .program = COPY_PROGRAM},
                {.listening = [](const CopyListening&) {},
                 .ended =
                     [this](const std::optional<CopyFailed>& why) {
                       is_over = true;
                       failed = why;
                     }}) {
    ::signal(SIGPIPE, SIG_IGN);  // as a gateway does
    Pipe pipe = make_pipe().value();
    theirs = std::move(is_push ? pipe.reader : pipe.writer);
    ours = std::move(is_push ? pipe.writer : pipe.reader);
    for (const UniqueFd* end : {&ours, &theirs})
      REQUIRE(::fcntl(end->get(), F_SETFL, O_NONBLOCK) == 0);
  }
  void start(const CopyMessage& order) {
    REQUIRE(process.start(order, theirs, seconds(30)).has_value());
    theirs.reset();
  }
  UniqueFd theirs;
  UniqueFd ours;
  CopyEnd process;
  bool is_over = false;
  std::optional<CopyFailed> failed;
};

}  // namespace

TEST_CASE("bytes of a gateway on another host come into a room, which is sealed") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, (std::size_t{5} << 20) + 7}) {
    CAPTURE(size);
    TwoHosts world;
    const DataId id = make_data_id();
    const auto bytes = copied_pattern(size);
    const std::string key = random_hex(key_size);
    world.to.data.obey(TwoHosts::room(id, size, false));
    world.to.copying.obey(ReceiveData{id, 7, key, seconds(30)});
    const auto listening = world.await<DataOffered>(world.to);
    CHECK(listening.transfer == 7);
    // Nobody else writes there now.
    CHECK(world.to.data.open({id, secret, DataAccess::write}, 0).error().code ==
          ErrorCode::conflict);
    GatewayEnd gateway(world, /*is_push=*/true);
    gateway.start(CopyPush{
        .key = key, .address = listening.address, .bytes = ByteCount{size}, .within = seconds(30)});
    std::size_t written = 0;
    world.run_until([&] {
      const ssize_t count =
          ::write(gateway.ours.get(), bytes.data() + written, bytes.size() - written);
      if (count > 0) written += static_cast<std::size_t>(count);
      return written == size && gateway.is_over;
    });
    CHECK_FALSE(gateway.failed.has_value());
    CHECK(world.await<DataFetched>(world.to).transfer == 7);
    world.to.data.obey(SealData{id});
    CHECK(world.await<DataSealed>(world.to).bytes.value == size);
    CHECK(world.to.bytes_of(id) == bytes);
    CHECK(world.children.watched() == 0);
  }
}

TEST_CASE("a room is gone when the gateway's bytes end early, with or without a gateway") {
  TwoHosts world;
  const DataId id = make_data_id();
  const std::string key = random_hex(key_size);
  world.to.data.obey(TwoHosts::room(id, 1 << 20, false));
  world.to.copying.obey(ReceiveData{id, 7, key, seconds(30)});
  const auto listening = world.await<DataOffered>(world.to);
  GatewayEnd gateway(world, /*is_push=*/true);
  gateway.start(CopyPush{.key = key,
                         .address = listening.address,
                         .bytes = ByteCount{1 << 20},
                         .within = seconds(30)});
  REQUIRE(::write(gateway.ours.get(), "abc", 3) == 3);
  SUBCASE("its pipe ends") { gateway.ours.reset(); }
  SUBCASE("its process is killed") { gateway.process.kill(); }
  SUBCASE("it is told to end") { world.to.copying.obey(EndDataTransfer{id, 7}); }
  CHECK(world.await<DataNotFetched>(world.to).transfer == 7);
  CHECK(world.await<DataDropped>(world.to).data == id);
  world.run_until([&] { return gateway.is_over && world.children.watched() == 0; });
  CHECK(world.to.data.book().used() == ByteCount{});
  CHECK(gateway.failed.has_value());
}

TEST_CASE("a gateway on another host reads a part of an object") {
  TwoHosts world;
  const DataId id = make_data_id();
  const std::string key = random_hex(key_size);
  const auto bytes = copied_pattern(3 << 20);
  world.put(world.from, id, bytes);
  world.from.copying.obey(OfferData{id, 9, key, seconds(30), seconds(20)});
  const auto listening = world.await<DataOffered>(world.from);
  GatewayEnd gateway(world, /*is_push=*/false);
  gateway.start(CopyPull{.key = key,
                         .address = listening.address,
                         .bytes = ByteCount{bytes.size()},
                         .begin = 1000,
                         .length = 2 << 20,
                         .within = seconds(30)});
  std::vector<std::byte> got((2 << 20) + 1);
  std::size_t read = 0;
  world.run_until([&] {
    const ssize_t count = ::read(gateway.ours.get(), got.data() + read, got.size() - read);
    if (count > 0) read += static_cast<std::size_t>(count);
    return gateway.is_over && count == 0;
  });
  CHECK_FALSE(gateway.failed.has_value());
  REQUIRE(read == 2 << 20);
  CHECK(std::ranges::equal(std::span(got).first(read), std::span(bytes).subspan(1000, read)));
}

TEST_CASE("a room that is not there, or not for that, receives nothing") {
  TwoHosts world;
  const DataId id = make_data_id();
  const std::string key(32, 'a');
  const auto refusal = [&](CopyHost& host) { return world.await<DataNotFetched>(host); };
  world.to.copying.obey(ReceiveData{id, 1, key, seconds(5)});
  CHECK(refusal(world.to).code == ErrorCode::not_found);
  world.make_room(id, 10);
  world.to.copying.obey(ReceiveData{id, 2, key, seconds(5)});
  CHECK(refusal(world.to).code == ErrorCode::conflict);
  const DataId opened = make_data_id();
  world.to.data.obey(TwoHosts::room(opened, 10, false));
  REQUIRE(world.to.data.open({opened, secret, DataAccess::write}, 0).has_value());
  world.to.copying.obey(ReceiveData{opened, 3, key, seconds(5)});
  CHECK(refusal(world.to).code == ErrorCode::conflict);
  const DataId sealed = make_data_id();
  world.put(world.to, sealed, copied_pattern(10));
  world.to.copying.obey(ReceiveData{sealed, 4, key, seconds(5)});
  CHECK(refusal(world.to).code == ErrorCode::conflict);
  CHECK(world.to.data.book().contains(sealed));
  CopyHost hidden(world.io, world.children, COPY_PROGRAM, "");
  const DataId other = make_data_id();
  hidden.data.obey(TwoHosts::room(other, 10, false));
  hidden.copying.obey(ReceiveData{other, 5, key, seconds(5)});
  CHECK(refusal(hidden).message.find("--lane-listen") != std::string::npos);
}

TEST_CASE("a process that copies is confined before it listens") {
  TwoHosts world;
  const DataId id = make_data_id();
  world.put(world.from, id, copied_pattern(10));
  world.from.copying.obey(OfferData{id, 1, std::string(32, 'a'), seconds(20)});
  (void)world.await<DataOffered>(world.from);
  REQUIRE(world.processes().size() == 1);
  const pid_t pid = world.processes().front();
  CHECK(status_field(pid, "NoNewPrivs") == "\t1");
#ifndef ORCHID_SANITIZED
  CHECK(status_field(pid, "Seccomp") == "\t2");
#endif
  world.from.copying.end_all();
  world.run_until([&] { return world.from.copying.under_way() == 0; });
  CHECK_FALSE(world.from.take<DataNotOffered>().has_value());
}

}  // namespace orchid::executor
