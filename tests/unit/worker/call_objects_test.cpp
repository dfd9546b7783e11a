#include "call_objects.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "foundation/clock.h"
#include "foundation/files.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

/// The depot at the other end: it does as the test says, and ends with its socket.
class DepotAtEnd {
 public:
  using Does = std::function<void(int socket, const ServiceRequest& request)>;
  explicit DepotAtEnd(Does does)
      : thread_([this, does = std::move(does)] {
          while (auto packet = receive_packet(sockets_.second.get(), true)) {
            const auto request = parse_service_request((*packet)->text);
            if (!request) break;
            does(sockets_.second.get(), *request);
          }
        }) {}
  ~DepotAtEnd() {
    sockets_.first.reset();
    thread_.join();
  }
  DepotAtEnd(const DepotAtEnd&) = delete;
  DepotAtEnd& operator=(const DepotAtEnd&) = delete;
  [[nodiscard]] int socket() const { return sockets_.first.get(); }
  /// Unasked.
  void say(const ServiceAnswer& said) const {
    REQUIRE(send_packet(sockets_.second.get(), encode(said)));
  }

 private:
  std::pair<UniqueFd, UniqueFd> sockets_ = make_packet_pair().value();
  std::thread thread_;
};

void answer(int socket, const ServiceAnswer& said, int file = -1) {
  (void)send_packet(socket, encode(said), file < 0 ? std::vector<int>{} : std::vector{file});
}

/// As an executor makes a room.
UniqueFd make_room(std::uint64_t bytes) {
  UniqueFd file(::memfd_create("orchid-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0);
  REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW) == 0);
  return file;
}

struct Worker {
  explicit Worker(DepotAtEnd::Does does) : depot(std::move(does)) {}
  DepotAtEnd depot;
  ServiceClient client{depot.socket()};
  DataMappings data;
  struct : Clock {
    MonotonicTime time{std::chrono::hours(1)};
    [[nodiscard]] MonotonicTime now() const override { return time; }
    [[nodiscard]] WallTime wall_now() const override { return {}; }
  } clock;
  CallObjects objects{client, data, clock};
};

template <typename T>
ErrorCode code_of_call(const Result<T>& result) {
  return result ? ErrorCode::internal : result.error().code;
}

}  // namespace

TEST_CASE("a name is asked for once in a call, and again in the next one") {
  int asked = 0;
  const UniqueFd file = make_sealed_memory("orchid-data", as_bytes("bytes")).value();
  const DataId data = make_data_id();
  Worker worker([&](int socket, const ServiceRequest& request) {
    CHECK(request.ask == ServiceAsk::open_data);
    CHECK(request.name == "weather");
    ++asked;
    answer(socket, {.sequence = request.sequence, .data = data, .bytes = 5}, file.get());
  });
  const auto first = worker.objects.open("weather");
  REQUIRE(first.has_value());
  CHECK(as_text(*first) == "bytes");
  CHECK(worker.objects.open("weather")->data() == first->data());
  CHECK(asked == 1);
  CHECK(worker.objects.in_use());
  CHECK(worker.objects.end(true).has_value());  // nothing was made: nobody is asked
  CHECK_FALSE(worker.objects.in_use());
  CHECK(worker.objects.open("weather")->data() == first->data());  // mapped still
  CHECK(asked == 2);
  CHECK(worker.objects.open(to_string(data))->data() == first->data());
  CHECK(asked == 2);
}

TEST_CASE("where an object is is asked for once in a second, and refusals are not remembered") {
  const DataId data = make_data_id();
  std::vector<ServiceRequest> asked;
  Worker worker([&](int socket, const ServiceRequest& request) {
    asked.push_back(request);
    if (request.name == "nonesuch")
      return answer(socket, {.verdict = ServiceVerdict::refused,
                             .sequence = request.sequence,
                             .code = ErrorCode::not_found});
    answer(socket, {.sequence = request.sequence, .data = data, .bytes = 3});
  });
  for (int times = 0; times < 2; ++times) {
    CHECK(worker.objects.locate("weather").value() == 3);
    CHECK(worker.objects.locate(to_string(data)).value() == 3);
  }
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].ask == ServiceAsk::locate_data);
  CHECK(asked[0].name == "weather");
  CHECK(asked[1].name.empty());
  CHECK(asked[1].data == data);
  CHECK_FALSE(worker.objects.in_use());
  CHECK(code_of_call(worker.objects.locate("nonesuch")) == ErrorCode::not_found);
  CHECK(code_of_call(worker.objects.locate("nonesuch")) == ErrorCode::not_found);
  CHECK(asked.size() == 4);
  worker.clock.time += std::chrono::seconds(1);
  CHECK(worker.objects.locate("weather").value() == 3);
  CHECK(asked.size() == 5);
  CHECK(code_of_call(worker.objects.locate("")) == ErrorCode::bad_request);
  CHECK(code_of_call(worker.objects.locate(std::string(100, 'a'))) == ErrorCode::bad_request);
}

TEST_CASE("that a mapped object is opened by its id is told time and again, whatever the answer") {
  using std::chrono::seconds;
  int asked = 0;
  bool refuses = false;
  const UniqueFd file = make_sealed_memory("orchid-data", as_bytes("bytes")).value();
  const DataId data = make_data_id();
  Worker worker([&](int socket, const ServiceRequest& request) {
    CHECK(request.data == data);
    ++asked;
    if (refuses)
      answer(socket, {.verdict = ServiceVerdict::refused,
                      .sequence = request.sequence,
                      .code = ErrorCode::data_lost});
    else
      answer(socket, {.sequence = request.sequence, .data = data, .bytes = 5}, file.get());
  });
  const std::string id = to_string(data);
  const auto opens = [&] {
    const auto bytes = worker.objects.open(id);
    CHECK(worker.objects.end(true).has_value());
    return bytes && as_text(*bytes) == "bytes";
  };
  CHECK(opens());
  CHECK(asked == 1);
  for (int second = 0; second < 60; ++second) {
    worker.clock.time += seconds(1);
    refuses = second > 30;
    CHECK(opens());
  }
  // Well before the executor takes it for unused, and not each time.
  CHECK(asked == 7);
}

TEST_CASE("a room is written in place, unmapped before it is sealed, and published at the end") {
  const UniqueFd file = make_room(8192);
  const DataId data = make_data_id();
  std::vector<ServiceRequest> asked;
  Worker worker([&](int socket, const ServiceRequest& request) {
    asked.push_back(request);
    const bool creates = request.ask == ServiceAsk::create_data;
    if (request.ask == ServiceAsk::seal_data)
      CHECK(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE) == 0);  // nobody has it mapped
    answer(socket, {.sequence = request.sequence, .data = data, .bytes = 8192},
           creates ? file.get() : -1);
  });
  const auto room = worker.objects.create(8192);
  REQUIRE(room.has_value());
  REQUIRE(room->size() == 8192);
  (*room)[0] = std::byte{'x'};
  CHECK(worker.objects.seal(room->data(), 1, "weather") == data);
  char first = 0;
  CHECK(::pread(file.get(), &first, 1, 0) == 1);
  CHECK(first == 'x');
  CHECK(code_of_call(worker.objects.seal(room->data(), 1, "weather")) == ErrorCode::conflict);
  CHECK(worker.objects.end(true).has_value());
  REQUIRE(asked.size() == 3);
  CHECK(asked[0].bytes == 8192);
  CHECK(asked[1].data == data);
  CHECK(asked[1].bytes == 1);
  CHECK(asked[1].name == "weather");
  CHECK(asked[2].ask == ServiceAsk::publish_data);
  CHECK(asked[2].bytes == 1);  // objects
}

TEST_CASE("a call that fails discards what it has made, and its rooms are unmapped") {
  const UniqueFd file = make_room(4096);
  ServiceAsk last{};
  Worker worker([&](int socket, const ServiceRequest& request) {
    last = request.ask;
    answer(socket, {.sequence = request.sequence, .data = make_data_id(), .bytes = 4096},
           request.ask == ServiceAsk::create_data ? file.get() : -1);
  });
  REQUIRE(worker.objects.create(4096).has_value());
  CHECK(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
  worker.objects.unmap_rooms();
  CHECK(worker.objects.end(false).has_value());
  CHECK(last == ServiceAsk::discard_data);
  CHECK(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE) == 0);
}

TEST_CASE("what cannot be is refused without asking") {
  Worker worker([](int, const ServiceRequest&) { FAIL("nobody is asked"); });
  CHECK(code_of_call(worker.objects.open("")) == ErrorCode::bad_request);
  CHECK(code_of_call(worker.objects.open(std::string(89, 'n'))) == ErrorCode::bad_request);
  CHECK(code_of_call(worker.objects.create(0)) == ErrorCode::bad_request);
  int nothing = 0;
  CHECK(code_of_call(worker.objects.seal(&nothing, 1, "a")) == ErrorCode::conflict);
  CHECK_FALSE(worker.objects.in_use());
}

TEST_CASE("a new depot is asked again, and answers to what was given up are passed over") {
  int asked = 0;
  Worker worker([&](int socket, const ServiceRequest& request) {
    if (++asked == 1) {
      answer(socket, {.sequence = request.sequence + 1});
      (void)send_packet(socket, "no answer at all");
      return answer(socket, {.verdict = ServiceVerdict::again});
    }
    answer(socket, {.verdict = ServiceVerdict::refused,
                    .sequence = request.sequence,
                    .code = ErrorCode::data_elsewhere,
                    .message = "it is on n17"});
  });
  const auto refused = worker.objects.open("weather");
  CHECK(asked == 2);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::data_elsewhere);
  CHECK(refused.error().message == "it is on n17");
}

TEST_CASE("what depots have said while nothing was asked is passed over") {
  int asked = 0;
  Worker worker([&](int socket, const ServiceRequest& request) {
    ++asked;
    answer(socket, {.verdict = ServiceVerdict::refused,
                    .sequence = request.sequence,
                    .code = ErrorCode::not_found});
  });
  CHECK(code_of_call(worker.objects.open("weather")) == ErrorCode::not_found);
  for (int depot = 0; depot < 3; ++depot) worker.depot.say({.verdict = ServiceVerdict::again});
  CHECK(code_of_call(worker.objects.open("weather")) == ErrorCode::not_found);
  CHECK(code_of_call(worker.objects.open("weather")) == ErrorCode::not_found);
  CHECK(asked == 3);
}

TEST_CASE("a call that is to stop waits for no answer, and its worker asks nothing more") {
  DepotAtEnd silent([](int, const ServiceRequest&) {});
  int looks = 0;
  ServiceClient client(silent.socket(), [&looks] { return ++looks > 2; });
  CHECK(code_of_call(client.ask({})) == ErrorCode::cancelled);
  CHECK(client.has_given_up());
  CHECK(code_of_call(client.ask({.ask = ServiceAsk::publish_data})) == ErrorCode::unreachable);
  ServiceClient stopped(silent.socket(), [] { return true; });
  CHECK(code_of_call(stopped.ask({})) == ErrorCode::cancelled);
  CHECK_FALSE(stopped.has_given_up());  // nothing was asked
}

TEST_CASE("a room whose answer was lost is discarded all the same") {
  std::vector<ServiceAsk> asked;
  Worker worker([&](int socket, const ServiceRequest& request) {
    asked.push_back(request.ask);
    answer(socket, {.verdict = request.ask == ServiceAsk::create_data ? ServiceVerdict::refused
                                                                      : ServiceVerdict::done,
                    .sequence = request.sequence});
  });
  CHECK_FALSE(worker.objects.create(4096).has_value());
  CHECK(worker.objects.end(false).has_value());
  CHECK(asked == std::vector{ServiceAsk::create_data, ServiceAsk::discard_data});
}

TEST_CASE("a depot that hangs up, or sends no descriptor, is told as such") {
  ServiceClient nobody(-1);
  CHECK(code_of_call(nobody.ask({})) == ErrorCode::unreachable);
  Worker worker([](int socket, const ServiceRequest& request) {
    answer(socket, {.sequence = request.sequence, .data = make_data_id(), .bytes = 5});
  });
  CHECK(code_of_call(worker.objects.open("weather")) == ErrorCode::unreachable);
}

}  // namespace orchid::executor
