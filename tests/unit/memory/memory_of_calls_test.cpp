// Ways from workers to leased memory: the real program at both ends.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calls_host.h"
#include "foundation/packet_room.h"

namespace orchid::executor {
namespace {

using namespace test;

}  // namespace

TEST_CASE("a worker gets a socket to a memory, and the next one goes on where it was") {
  CallsHost host;
  host.take(lease_here);
  {
    const Told told = host.open(7);
    CHECK(told.answer.bytes == bytes_here.value);
    CHECK(host.add(told.socket.get()).before == 0);
    CHECK(host.add(told.socket.get()).before == 1);
    const auto beyond = host.access(
        told.socket.get(),
        {.ask = MemoryAsk::put, .sequence = 3, .offset = bytes_here.value - 2, .bytes = 5},
        "bytes");
    CHECK(beyond.verdict == MemoryVerdict::refused);
    CHECK(beyond.code == ErrorCode::bad_request);
    CHECK(host.add(told.socket.get()).before == 2);
  }
  const Told told = host.open(8);
  CHECK(host.add(told.socket.get()).before == 3);
  host.leases.obey(EndMemory{lease_here});
  MemoryAnswer late;
  // What comes before the end of the connection has been seen may have happened.
  host.run_until([&] {
    late = host.add(told.socket.get());
    return late.verdict != MemoryVerdict::done;
  });
  CHECK(late.code == ErrorCode::lease_ended);
  late = host.access(told.socket.get(), {.ask = MemoryAsk::get, .sequence = 4, .bytes = 8});
  CHECK(late.verdict == MemoryVerdict::refused);
  CHECK(late.code == ErrorCode::lease_ended);
}

TEST_CASE("one uses a memory at a time, and who waits too long is told so") {
  CallsHost host(seconds(3));
  host.take(lease_here);
  Told first = host.open(7);
  host.ask(8, to_string(lease_here));
  host.check_refused(ErrorCode::conflict, "at a time");
  CHECK(host.add(first.socket.get()).before == 0);
  first.socket.reset();
  CHECK(host.add(host.open(8).socket.get()).before == 1);
}

TEST_CASE("only a tenant's own leases are found, here or by the gateway") {
  CallsHost host(milliseconds(700));
  host.take(lease_here, dora);
  host.ask(7, to_string(lease_here));
  host.check_refused(ErrorCode::unreachable, "no gateway");
  host.calls.begin(true);
  host.ask(7, to_string(lease_here), 2);
  const FindMemory question = host.question();
  CHECK(question.tenant == carl);
  CHECK(question.lease == lease_here);
  host.calls.obey(MemoryNotFound{question.question, ErrorCode::not_found, "there is no lease"});
  host.check_refused(ErrorCode::not_found, "there is no lease");
  host.calls.obey(MemoryNotFound{question.question, ErrorCode::not_found, "once more"});
  host.ask(7, "weather", 3);
  host.check_refused(ErrorCode::bad_request, "the id of its lease");
  host.ask(7, to_string(lease_here), 4);
  host.check_refused(ErrorCode::timed_out, "the gateway does not answer");
}

TEST_CASE("a worker has four memories open at most, and a request that comes twice is one") {
  CallsHost host(seconds(4));
  std::vector<Told> held;
  for (std::uint64_t number = 1; number <= MemoryOfCalls::most_of_worker; ++number) {
    host.take({2, number});
    host.ask(7, to_string(LeaseId{2, number}), 9);
    host.ask(7, to_string(LeaseId{2, number}), 9);  // as after a depot that was killed
    held.push_back(host.await());
    CHECK(host.answers.empty());
  }
  host.take(lease_here);
  host.ask(7, to_string(lease_here));
  host.check_refused(ErrorCode::quota, "at most 4");
  CHECK(host.add(host.open(8).socket.get()).before == 0);
}

TEST_CASE("who sends nonsense, or takes no answers, loses its way and nothing else") {
  CallsHost host;
  host.take(lease_here);
  {
    const Told told = host.open(7);
    REQUIRE(send_packet(told.socket.get(), "rubbish").has_value());
    CHECK_FALSE(host.hear(told.socket.get()).has_value());
  }
  {
    const Told told = host.open(7);
    const auto pair = make_packet_pair().value();
    REQUIRE(send_packet(told.socket.get(),
                        encode(MemoryAccess{.ask = MemoryAsk::fence, .sequence = 1}),
                        {pair.first.get()})
                .has_value());
    CHECK_FALSE(host.hear(told.socket.get()).has_value());
  }
  CHECK(host.add(host.open(8).socket.get()).before == 0);
}

TEST_CASE("a window of requests is answered in order, whenever the worker takes the answers") {
  CallsHost host;
  host.take(lease_here);
  const Told told = host.open(7);
  const int socket = told.socket.get();
  const auto ask = [&](const MemoryAccess& access, std::string_view bytes = {}) {
    host.run_until([&] { return try_send_packet(socket, encode_head(access), bytes).value(); });
  };
  const std::string bytes(memory_access_part, 'b');
  std::uint32_t sequence = 0;
  for (std::uint64_t part = 0; part < 8; ++part)
    ask({.ask = MemoryAsk::put,
         .sequence = ++sequence,
         .offset = part * bytes.size(),
         .bytes = bytes.size()},
        bytes);
  // The first byte of each part: a column.
  ask({.ask = MemoryAsk::put,
       .sequence = ++sequence,
       .bytes = 8,
       .row = 1,
       .stride = memory_access_part},
      "01234567");
  for (std::uint64_t part = 0; part < 7; ++part)
    ask({.ask = MemoryAsk::get,
         .sequence = ++sequence,
         .offset = part * bytes.size(),
         .bytes = bytes.size()});
  CHECK(sequence == memory_access_window);
  ask({.ask = MemoryAsk::fetch_add, .sequence = ++sequence, .offset = 8, .operand = 1});
  for (std::uint32_t answered = 1; answered <= sequence; ++answered) {
    CAPTURE(answered);
    const bool brings = answered > 9 && answered < sequence;
    const auto text = host.hear(socket);
    REQUIRE(text.has_value());
    const auto answer = parse_memory_answer(*text, brings ? bytes.size() : 0);
    REQUIRE(answer.has_value());
    CHECK(answer->head.sequence == answered);
    CHECK(answer->head.verdict == MemoryVerdict::done);
    if (brings) CHECK(answer->bytes == std::to_string(answered - 10) + bytes.substr(1));
    if (answered == sequence) CHECK(answer->head.before == 0x6262626262626262ULL);
  }
}

TEST_CASE("the end of its worker, or of the grant, ends a way") {
  CallsHost host;
  host.take(lease_here);
  const Told told = host.open(7);
  CHECK(host.children.watched() == 2);
  host.calls.worker_ended(7);
  CHECK_FALSE(host.hear(told.socket.get()).has_value());
  host.run_until([&] { return host.children.watched() == 1; });
  const Told again = host.open(8);
  host.calls.end_all();
  host.leases.end_all();
  host.run_until([&] { return host.children.watched() == 0; });
}

TEST_CASE("a memory of which nobody listens any more is not waited for without end") {
  CallsHost host(milliseconds(500));
  host.calls.begin(true);
  host.ask(7, to_string(lease_here));
  host.calls.obey(MemoryFound{.question = host.question().question,
                              .address = "127.0.0.1:1",
                              .key = std::string(32, 'c'),
                              .bytes = 1_MiB,
                              .host = "n17"});
  host.check_refused(ErrorCode::conflict, "not to be reached");
  host.run_until([&] { return host.children.watched() == 0; });
}

}  // namespace orchid::executor
