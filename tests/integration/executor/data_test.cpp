// Data objects: made, written, sealed, mapped by workers, and given to calls; by real workers over
// the lane socket, with this test in the gateway's place.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "executor_fixture.h"
#include "foundation/files.h"
#include "foundation/random.h"
#include "protocol/data_table.h"
#include "readiness.h"

namespace orchid::tests {
namespace {

using namespace std::chrono_literals;

/// What the gateway does with data, and who else comes to the lane socket.
struct DataFixture : ExecutorFixture {
  const std::string secret = random_hex(32);

  template <typename Command>
  std::vector<ControlMessage> tell(const Command& command) {
    auto told = executor.with_data([&](executor::DataService& data) { data.obey(command); });
    // It takes a while to seal one.
    REQUIRE(eventually([&] {
      if (told.empty()) told = executor.with_data([](executor::DataService&) {});
      return !told.empty();
    }));
    return told;
  }
  MakeData request(ByteCount bytes, std::string name = "") {
    return {.data = make_data_id(),
            .terms = {.tenant = {::geteuid(), "test"},
                      .bytes = bytes,
                      .name = std::move(name),
                      .secret = secret},
            .write_within = 60s};
  }
  UniqueFd connect() { return connect_packets(executor.lane_socket()).value(); }
  /// What comes next over a connection, with its descriptor.
  static std::pair<LaneMessage, UniqueFd> next(const UniqueFd& socket) {
    REQUIRE(is_ready(socket.get(), POLLIN, 10s));
    auto packet = receive_packet(socket.get(), false).value();
    REQUIRE(packet.has_value());
    UniqueFd file;
    if (!packet->descriptors.empty()) file = std::move(packet->descriptors.front());
    return {parse_lane_message(packet->text).value(), std::move(file)};
  }
  /// The answer to the only packet of a connection, and its descriptor.
  std::pair<LaneMessage, UniqueFd> ask(const LaneMessage& message) {
    const UniqueFd socket = connect();
    REQUIRE(send_packet(socket.get(), encode(message)).has_value());
    return next(socket);
  }
  /// A connection that reads for as long as it is open.
  UniqueFd reader(const DataId& data) {
    UniqueFd socket = connect();
    REQUIRE(send_packet(socket.get(), encode(LaneOpenData{data, secret, DataAccess::read}))
                .has_value());
    const auto [answer, file] = next(socket);
    REQUIRE_MESSAGE(std::holds_alternative<LaneData>(answer), encode(answer));
    CHECK(file);
    return socket;
  }
  UniqueFd open(const DataId& data, DataAccess access) {
    auto [answer, file] = ask(LaneOpenData{data, secret, access});
    REQUIRE_MESSAGE(std::holds_alternative<LaneData>(answer), encode(answer));
    return std::move(file);
  }
  ErrorCode refusal(const LaneOpenData& message) {
    const auto answer = ask(message).first;
    REQUIRE_MESSAGE(std::holds_alternative<LaneRefused>(answer), encode(answer));
    return std::get<LaneRefused>(answer).code;
  }
  DataId make(std::string_view content, std::string name = "") {
    const MakeData made = request(ByteCount{content.size()}, std::move(name));
    REQUIRE(std::holds_alternative<DataMade>(tell(made).back()));
    UniqueFd room = open(made.data, DataAccess::write);
    REQUIRE(::write(room.get(), content.data(), content.size()) ==
            static_cast<ssize_t>(content.size()));
    room.reset();
    const auto answers = tell(SealData{made.data});
    REQUIRE(std::holds_alternative<DataSealed>(answers.back()));
    CHECK(std::get<DataSealed>(answers.back()).bytes.value == content.size());
    return made.data;
  }
  /// The next word about data; ends of workers and their replacements are passed over.
  LaneMessage hear() {
    LaneMessage message = worker.receive();
    while (std::holds_alternative<LaneEnded>(message) ||
           std::holds_alternative<LaneClaimed>(message))
      message = worker.receive();
    return message;
  }
  void attach(const std::vector<DataId>& data) {
    worker.send(LaneAttach{data});
    for (std::size_t i = 0; i < data.size(); ++i) {
      const LaneMessage answer = hear();
      REQUIRE_MESSAGE(std::holds_alternative<LaneAttached>(answer), encode(answer));
      CHECK(std::ranges::find(data, std::get<LaneAttached>(answer).data) != data.end());
    }
  }
  ErrorCode attach_refusal(const DataId& data) {
    worker.send(LaneAttach{{data}});
    const LaneMessage answer = hear();
    REQUIRE_MESSAGE(std::holds_alternative<LaneNotAttached>(answer), encode(answer));
    CHECK(std::get<LaneNotAttached>(answer).data == data);
    CHECK_FALSE(std::get<LaneNotAttached>(answer).message.empty());
    return std::get<LaneNotAttached>(answer).code;
  }
  static std::string payload_of(const std::vector<DataId>& data, std::string_view input) {
    std::string payload(data_table_bytes(data.size(), input.size()), '\0');
    write_data_table(data, input.size(), std::as_writable_bytes(std::span(payload)));
    return payload + std::string(input);
  }
  WorkerClient::Reply call_with(const std::vector<DataId>& data, std::string_view act,
                                const std::string& function = "uses_data") {
    const LaneSlot slot = worker.load(test_function(function));
    (void)worker.start(slot, payload_of(data, act), 10s, 0, flag_data);
    return worker.finish();
  }
  ByteCount used() {
    ByteCount bytes;
    executor.with_data([&](executor::DataService& data) {
      data.tick();  // as the agent does it, time and again
      bytes = data.book().used();
    });
    return bytes;
  }
};

std::string doubles(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

}  // namespace

TEST_CASE_FIXTURE(DataFixture, "a call finds the bytes that were written, and so does the next") {
  const std::string big(1 << 20, '\1');
  const DataId first = make(big);
  const DataId second = make("\2\3");
  const DataId empty = make("");
  CHECK(used().value == big.size() + 2);
  attach({first, second, empty});
  CHECK(call_with({first, second, empty}, "sum").output == "3 1048578 1048581");
  CHECK(call_with({second}, "sum").output == "1 2 5");  // mapped already
  CHECK(call_with({second, second}, "sum").output == "2 4 10");
  attach({second});  // once more, which changes nothing
  CHECK(call_with({second}, "sum").output == "1 2 5");
  CHECK(call("uses_data", "sum").output == "0 0 0");
}

TEST_CASE_FIXTURE(DataFixture,
                  "typed entries take data as elements, and refuse what does not fit") {
  const DataId values = make(doubles({1, 2.5, 4}));
  const DataId numbers = make(std::string("\7\0\0\0\1\0\0\0", 8));
  const DataId odd = make("seven..");
  attach({values, numbers, odd});
  const std::string factor = doubles({2});
  CHECK(call_with({values, numbers}, factor, "sums_typed_data").output == doubles({23}));
  const auto refused = [&](const std::vector<DataId>& data) {
    const auto reply = call_with(data, factor, "sums_typed_data");
    CHECK(reply.outcome == Outcome::bad_request);
    return reply.message;
  };
  CHECK(contains(refused({values}), "f64(data<f64>,f64,data<i32>): data object 1 was not given"));
  CHECK(
      contains(refused({values, numbers, odd}), "the call has 3 data object(s), and 2 are taken"));
  CHECK(contains(refused({odd, numbers}), "data object 0 has 7 bytes"));
}

TEST_CASE_FIXTURE(DataFixture, "a call with data that the worker does not have is told so, unrun") {
  const LaneSlot slot = worker.load(test_function("uses_data"));
  const DataId data = make("x");
  const auto needs = [&] {
    (void)worker.start(slot, payload_of({data}, "sum"), 10s, 0, flag_data);
    return worker.finish().kind == ResponseKind::need_data;
  };
  CHECK(needs());
  attach({data});
  CHECK_FALSE(needs());
  worker.send(LaneDetach{{data}});
  CHECK(eventually(needs));
  attach({data});
  CHECK(call_with({data}, "sum").output == "1 1 120");
}

TEST_CASE_FIXTURE(DataFixture, "a payload without a table of data is refused") {
  const LaneSlot slot = worker.load(test_function("uses_data"));
  const std::string whole = payload_of({make_data_id()}, "");
  for (const std::string& payload :
       {std::string(), std::string("sum"), whole.substr(0, whole.size() - 1),
        std::string(128, '\0'), std::string(4096, '\xff')}) {
    (void)worker.start(slot, payload, 10s, 0, flag_data);
    const auto reply = worker.finish();
    CHECK(reply.outcome == Outcome::bad_request);
    CHECK(contains(reply.message, "no table of data"));
  }
  CHECK(worker.call(slot, "sum").output == "0 0 0");
}

TEST_CASE_FIXTURE(DataFixture, "another tenant's data, and what is not there, is not attached") {
  MakeData others = request(1_B);
  others.terms.tenant = {::geteuid() + 1, "another"};
  REQUIRE(std::holds_alternative<DataMade>(tell(others).back()));
  CHECK(attach_refusal(others.data) == ErrorCode::data_lost);  // not sealed yet
  REQUIRE(std::holds_alternative<DataSealed>(tell(SealData{others.data}).back()));
  CHECK(attach_refusal(others.data) == ErrorCode::denied);
  CHECK(attach_refusal(make_data_id()) == ErrorCode::data_lost);
  const auto reply = call_with({others.data}, "sum");
  CHECK(reply.kind == ResponseKind::need_data);
}

TEST_CASE_FIXTURE(DataFixture, "who writes to its data, or asks for more, fails alone") {
  const DataId data = make("x");
  WorkerClient neighbour(executor, lane_under_test());
  attach({data});
  const auto reply = call_with({data}, "write");
  CHECK(reply.outcome == Outcome::function_crashed);
  CHECK(reply.signal == SIGSEGV);
  CHECK(attach_refusal(make_data_id()) == ErrorCode::data_lost);
  CHECK(call_with({data}, "sum").kind == ResponseKind::need_data);  // in the next worker
  attach({data});
  CHECK(call_with({data}, "sum").output == "1 1 120");
  const auto beyond = call_with({data}, "beyond");
  CHECK(beyond.outcome == Outcome::function_error);
  CHECK(contains(beyond.message, "data object 1 was asked for, and the call has 1"));
  CHECK(neighbour.call(neighbour.load(test_function("uses_data")), "sum").output == "0 0 0");
}

TEST_CASE_FIXTURE(DataFixture,
                  "who changes the mapping of its data loses its worker, and no data") {
  const DataId data = make("x");
  for (const char* act : {"unmap", "cover", "unlock"}) {
    CAPTURE(act);
    attach({data});
    CHECK(call_with({data}, act).outcome == Outcome::ok);
    check_replaced("changed how data that it was given is mapped");
  }
  attach({data});
  CHECK(call_with({data}, "sum").output == "1 1 120");
}

TEST_CASE_FIXTURE(DataFixture, "data that is deleted while a worker has it stays for its call") {
  const LaneSlot slot = worker.load(test_function("sleeps_with_data"));
  const DataId data = make(std::string(4096, '\1'));
  attach({data});
  const auto request_id = worker.start(slot, payload_of({data}, ""), 10s, 0, flag_data);
  REQUIRE(eventually([&] { return worker.progress(request_id) == 0.5; }));
  const auto answers = tell(DropData{data});
  REQUIRE(std::holds_alternative<DataDropped>(answers.back()));
  CHECK(std::get<DataDropped>(answers.back()).reason == DataEnd::deleted);
  CHECK(attach_refusal(data) == ErrorCode::data_lost);
  CHECK(worker.finish().output == "4096");
  CHECK(eventually([&] { return used() == 0_B; }));
  CHECK(call_with({data}, "sum").kind == ResponseKind::need_data);
  CHECK(std::get<DataDropped>(tell(DropData{data}).back()).reason == DataEnd::deleted);  // again
}

TEST_CASE_FIXTURE(DataFixture,
                  "bytes are read with the secret, and by nobody who can change them") {
  const DataId data = make("content");
  const UniqueFd file = open(data, DataAccess::read);
  std::array<char, 16> bytes{};
  CHECK(::read(file.get(), bytes.data(), bytes.size()) == 7);
  CHECK(std::string(bytes.data(), 7) == "content");
  CHECK(::write(file.get(), "x", 1) < 0);
  CHECK((::fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDONLY);
  CHECK(refusal({data, random_hex(32), DataAccess::read}) == ErrorCode::denied);
  CHECK(refusal({make_data_id(), secret, DataAccess::read}) == ErrorCode::denied);
  CHECK(refusal({data, secret, DataAccess::write}) == ErrorCode::conflict);
}

TEST_CASE_FIXTURE(DataFixture, "deleted data is charged until its last reader has gone") {
  const DataId data = make("content");
  UniqueFd first = reader(data);
  UniqueFd second = reader(data);
  REQUIRE(std::holds_alternative<DataDropped>(tell(DropData{data}).back()));
  CHECK(refusal({data, secret, DataAccess::read}) == ErrorCode::denied);
  // Who says nothing at all is sent away; who reads is not.
  const UniqueFd silent = connect();
  const LaneMessage sent_away = next(silent).first;
  REQUIRE_MESSAGE(std::holds_alternative<LaneRefused>(sent_away), encode(sent_away));
  CHECK(std::get<LaneRefused>(sent_away).code == ErrorCode::timed_out);
  CHECK(used() == 7_B);
  first.reset();
  // A reader who says something more is sent away.
  REQUIRE(
      send_packet(second.get(), encode(LaneOpenData{data, secret, DataAccess::read})).has_value());
  CHECK(std::holds_alternative<LaneRefused>(next(second).first));
  CHECK(eventually([&] { return used() == 0_B; }));
}

TEST_CASE_FIXTURE(DataFixture, "readers beyond the limit are refused until one has gone") {
  const DataId data = make("content");
  std::vector<UniqueFd> readers;
  const std::size_t most = executor::DataBook::Options{}.most_readers;
  while (readers.size() < most) readers.push_back(reader(data));
  CHECK(refusal({data, secret, DataAccess::read}) == ErrorCode::no_capacity);
  readers.pop_back();
  CHECK(eventually([&] {
    return std::holds_alternative<LaneData>(
        ask(LaneOpenData{data, secret, DataAccess::read}).first);
  }));
}

TEST_CASE_FIXTURE(DataFixture,
                  "a room has one writer, and cannot be read or sealed under its pen") {
  const MakeData made = request(4_KiB);
  REQUIRE(std::holds_alternative<DataMade>(tell(made).back()));
  CHECK(refusal({made.data, secret, DataAccess::read}) == ErrorCode::conflict);
  UniqueFd room = open(made.data, DataAccess::write);
  CHECK(refusal({made.data, secret, DataAccess::write}) == ErrorCode::conflict);
  void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, room.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto answers = tell(SealData{made.data});
  CHECK(std::get<DataDropped>(answers.back()).reason == DataEnd::unfinished);
  ::munmap(mapped, 4096);
  CHECK(std::get<DataDropped>(tell(SealData{made.data}).back()).reason == DataEnd::unknown);
  CHECK(used() == 4_KiB);  // its writer keeps the pages of it
  room.reset();
  CHECK(used() == 0_B);
}

TEST_CASE_FIXTURE(DataFixture, "what is over the budget is refused; unnamed data gives way first") {
  const MakeData unnamed = request(150_MiB);
  REQUIRE(std::holds_alternative<DataMade>(tell(unnamed).back()));
  REQUIRE(std::holds_alternative<DataSealed>(tell(SealData{unnamed.data}).back()));
  attach({unnamed.data});
  const auto refused = tell(request(150_MiB));
  REQUIRE(std::holds_alternative<DataRefused>(refused.back()));
  CHECK(std::get<DataRefused>(refused.back()).code == ErrorCode::no_data_memory);
  CHECK(contains(std::get<DataRefused>(refused.back()).message, "150 MiB of it mapped"));
  worker.send(LaneDetach{{unnamed.data}});
  std::vector<ControlMessage> answers;
  const MakeData next = request(150_MiB);
  CHECK(eventually([&] {
    (void)used();  // who has had it open is looked for time and again
    answers = tell(next);
    return std::holds_alternative<DataMade>(answers.back());
  }));
  const auto* evicted = std::get_if<DataDropped>(&answers.front());
  REQUIRE(evicted != nullptr);
  CHECK(evicted->data == unnamed.data);
  CHECK(evicted->reason == DataEnd::evicted);
}

TEST_CASE_FIXTURE(DataFixture,
                  "a room that nobody seals in time is dropped, and so is all that a gateway "
                  "which begins anew has not heard of") {
  MakeData late = request(1_MiB, "late");
  late.write_within = 0ms;
  const DataId kept = make("kept", "kept");
  REQUIRE(std::holds_alternative<DataMade>(tell(late).back()));
  const auto ended = executor.with_data([](executor::DataService& data) { data.tick(); });
  REQUIRE(ended.size() == 1);
  CHECK(std::get<DataDropped>(ended[0]).reason == DataEnd::unfinished);
  const MakeData room = request(1_MiB);
  REQUIRE(std::holds_alternative<DataMade>(tell(room).back()));
  // One is sealed after the hello, and nobody would ever hear of it.
  executor.with_data([](executor::DataService& data) { CHECK(data.introduce().size() == 1); });
  const DataId unheard = make("unheard", "unheard");
  executor.with_data([&](executor::DataService& data) {
    data.begin_afresh();
    const auto held = data.book().held(std::chrono::steady_clock::now());
    REQUIRE(held.size() == 1);
    CHECK(held[0].data == kept);
    CHECK(held[0].terms.name == "kept");
  });
  CHECK(refusal({room.data, secret, DataAccess::write}) == ErrorCode::denied);
  CHECK(refusal({unheard, secret, DataAccess::read}) == ErrorCode::denied);
  CHECK(used() == 4_B);
}

TEST_CASE_FIXTURE(DataFixture, "thousands of attachments and readers leave nothing behind") {
  const DataId data = make(std::string(100, '\1'));
  // The executor is a part of this process.
  const auto open_data_files = [] {
    std::error_code gone;  // a descriptor may be closed meanwhile
    return std::ranges::count_if(
        std::filesystem::directory_iterator("/proc/self/fd"), [&](const auto& descriptor) {
          const auto file = std::filesystem::read_symlink(descriptor.path(), gone);
          return contains(file.string(), "memfd:orchid-data");
        });
  };
  const pid_t pid = worker.pid();
  const int rounds = lane_under_test() == LaneKind::local ? 10'000 : 500;
  for (int i = 0; i < rounds; ++i) {
    attach({data});
    worker.send(LaneDetach{{data}});
    CHECK(open(data, DataAccess::read));
  }
  attach({data});
  CHECK(call_with({data}, "sum").output == "1 100 100");
  CHECK(worker.pid() == pid);
  CHECK(eventually([&] { return open_data_files() == 1; }));
  CHECK(used() == 100_B);
}

TEST_CASE_FIXTURE(DataFixture,
                  "a worker that ends gives its data back; the next one attaches again") {
  const DataId data = make("x");
  attach({data});
  ::kill(worker.pid(), SIGKILL);
  REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
  REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  REQUIRE(std::holds_alternative<DataDropped>(tell(DropData{data}).back()));
  CHECK(used() == 0_B);  // nobody holds it any more
  const DataId other = make("y");
  attach({other});
  CHECK(call_with({other}, "sum").output == "1 1 121");
}

TEST_CASE_FIXTURE(DataFixture, "when the grant ends nothing is kept, and nothing is made") {
  const DataId data = make("x", "name");
  attach({data});
  executor.with_data([](executor::DataService& service) { service.end(); });
  const auto refused = tell(request(1_B));
  CHECK(std::get<DataRefused>(refused.back()).code == ErrorCode::lease_ended);
  CHECK(used() == 1_B);  // the worker is not asked to unmap it: it ends anyway
  ::kill(worker.pid(), SIGKILL);
  CHECK(eventually([&] { return used() == 0_B; }));
  bool settled = false;
  CHECK(eventually([&] {
    executor.with_data([&](executor::DataService& service) { settled = service.settled(); });
    return settled;
  }));
  CHECK(refusal({data, secret, DataAccess::read}) == ErrorCode::denied);
}

}  // namespace orchid::tests
