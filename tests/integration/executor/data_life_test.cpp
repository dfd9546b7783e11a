// How long data objects live: over a gateway's end, until their executor's.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "executor_at_gate.h"
#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/sockets.h"

namespace orchid::tests {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> small{"--cores",       "1",    "--memory", "512MiB",
                                     "--data-memory", "64MiB"};

MakeData request(ByteCount bytes, std::string name) {
  return {.data = make_data_id(),
          .terms = {.tenant = {::geteuid(), "test"},
                    .bytes = bytes,
                    .name = std::move(name),
                    .version = 1,
                    .secret = random_hex(32)},
          .write_within = 60s};
}

LaneMessage open(const std::string& lane_socket, const MakeData& made, DataAccess access,
                 UniqueFd* file = nullptr) {
  const UniqueFd socket = connect_packets(lane_socket).value();
  REQUIRE(send_packet(socket.get(), encode(LaneOpenData{made.data, made.terms.secret, access}))
              .has_value());
  auto packet = receive_packet(socket.get(), true).value();
  REQUIRE(packet.has_value());
  if (file != nullptr && packet->descriptors.size() == 1)
    *file = std::move(packet->descriptors.front());
  return parse_lane_message(packet->text).value();
}

/// What an executor has to say.
class ExecutorLog {
 public:
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::string text() const {
    const auto bytes = read_file("/proc/self/fd/" + std::to_string(file_.get()), 1_MiB);
    REQUIRE(bytes.has_value());
    return std::string(as_text(*bytes));
  }

 private:
  UniqueFd file_{::memfd_create("log", MFD_CLOEXEC)};
};

bool contains_words(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// Of as many bytes, all written to.
MakeData make_sealed(ExecutorAtGate& gate, const ControlHello& hello, ByteCount bytes,
                     std::string name) {
  const MakeData made = request(bytes, std::move(name));
  gate.send(made);
  CHECK(gate.await_message<DataMade>().data == made.data);
  UniqueFd room;
  REQUIRE(
      std::holds_alternative<LaneData>(open(hello.lane_socket, made, DataAccess::write, &room)));
  const std::string content(1 << 20, 'x');
  for (std::uint64_t at = 0; at < bytes.value; at += content.size())
    REQUIRE(::pwrite(room.get(), content.data(), content.size(), static_cast<off_t>(at)) ==
            static_cast<ssize_t>(content.size()));
  room.reset();  // what its writer has open stays in memory
  gate.send(SealData{made.data});
  CHECK(gate.await_message<DataSealed>().bytes == bytes);
  return made;
}

}  // namespace

TEST_CASE("a gateway that starts anew hears what data there is, and rooms are gone") {
  ExecutorAtGate gate;
  gate.start_executor(small);
  const ControlHello hello = gate.await_hello();
  CHECK(hello.data_memory == DataMemory{64_MiB, 0_B});
  CHECK(hello.host.memory == 448_MiB);  // what is left for workers
  CHECK(hello.data.empty());
  const MakeData sealed = make_sealed(gate, hello, 3_MiB, "weather");
  CHECK(gate.await_message<CapacityReport>().data_used == 3_MiB);
  const MakeData room = request(1_MiB, "unfinished");
  gate.send(room);
  CHECK(gate.await_message<DataMade>().data == room.data);

  gate.restart_gateway();
  const ControlHello again = gate.await_hello();
  CHECK(again.executor == hello.executor);
  REQUIRE(again.data.size() == 1);
  CHECK(again.data[0].data == sealed.data);
  CHECK(again.data[0].terms == sealed.terms);
  gate.send(SealData{room.data});
  CHECK(gate.await_message<DataDropped>().reason == DataEnd::unknown);
  CHECK(std::holds_alternative<LaneData>(open(hello.lane_socket, sealed, DataAccess::read)));
  CHECK(std::holds_alternative<LaneRefused>(open(hello.lane_socket, room, DataAccess::write)));
}

TEST_CASE("data ends with its executor, and the next one knows nothing of it") {
  ExecutorAtGate gate;
  gate.start_executor(small);
  const ControlHello hello = gate.await_hello();
  const MakeData sealed = make_sealed(gate, hello, 1_MiB, "weather");
  ::kill(gate.executor().pid(), SIGKILL);
  REQUIRE(gate.executor().wait(10s).has_value());
  gate.start_executor(small);
  const ControlHello next = gate.await_hello();
  CHECK(next.executor != hello.executor);
  CHECK(next.data.empty());
  CHECK(next.data_memory == DataMemory{64_MiB, 0_B});
  CHECK(std::holds_alternative<LaneRefused>(open(next.lane_socket, sealed, DataAccess::read)));
}

TEST_CASE("an executor whose cores are taken back is gone at once, and its data with it") {
  ExecutorAtGate gate;
  std::vector<std::string> flags = small;
  flags.insert(flags.end(), {"--grant", "pilot", "--job", "7", "--scheduling", "normal"});
  const ExecutorLog log;
  gate.start_executor(flags, log.descriptor());
  const ControlHello hello = gate.await_hello();
  const MakeData made = make_sealed(gate, hello, 48_MiB, "weather");
  // Somebody reads it, and goes on as long as the executor lets it.
  const UniqueFd reader = connect_packets(hello.lane_socket).value();
  REQUIRE(send_packet(reader.get(),
                      encode(LaneOpenData{made.data, made.terms.secret, DataAccess::read}))
              .has_value());
  REQUIRE(receive_packet(reader.get(), true).value().has_value());
  gate.executor().send_signal(SIGTERM);
  bool ended = false;
  gate.await([&] {
    const auto end = gate.executor().reap();
    if (end) CHECK(end->ok());
    return ended = ended || end.has_value();
  });
  // It did not run into the limit of its time, after which it goes with whatever is left.
  const std::string said = log.text();
  CHECK_MESSAGE(contains_words(said, "event=all_data_dropped objects=1"), said);
  CHECK_MESSAGE(contains_words(said, "sessions_left=0 processes_left=0"), said);
}

TEST_CASE("an executor whose cores are taken back lets go of what it has on disk, too") {
  ExecutorAtGate gate;
  const TemporaryDirectory disk;
  std::vector<std::string> flags = small;
  flags.insert(flags.end(), {"--grant", "pilot", "--job", "7", "--scheduling", "normal",
                             "--data-spill", disk.path().string()});
  const ExecutorLog log;
  gate.start_executor(flags, log.descriptor());
  const ControlHello hello = gate.await_hello();
  make_sealed(gate, hello, 48_MiB, "weather");
  make_sealed(gate, hello, 48_MiB, "climate");
  CHECK_MESSAGE(contains_words(log.text(), "event=data_spilled"), log.text());
  // One is on disk, and another one is on its way there when the grant ends.
  gate.send(request(48_MiB, "snow"));
  gate.executor().send_signal(SIGTERM);
  bool ended = false;
  gate.await([&] {
    const auto end = gate.executor().reap();
    if (end) CHECK(end->ok());
    return ended = ended || end.has_value();
  });
  const std::string said = log.text();
  CHECK_MESSAGE(contains_words(said, "event=all_data_dropped objects="), said);
  // It did not run into the limit of its time.
  CHECK_MESSAGE(contains_words(said, "sessions_left=0 processes_left=0"), said);
  CHECK(std::filesystem::is_empty(disk.path()));
}

TEST_CASE("an executor that is told to keep no data says so") {
  ExecutorAtGate gate;
  gate.start_executor({"--cores", "1", "--memory", "512MiB", "--data-memory", "0"});
  const ControlHello hello = gate.await_hello();
  CHECK_FALSE(hello.data_memory.has_value());
  CHECK(hello.host.memory == 512_MiB);
}

TEST_CASE("data memory that leaves nothing for workers is refused, with figures") {
  ExecutorAtGate gate;
  const ExecutorLog log;
  gate.start_executor({"--cores", "1", "--memory", "128MiB", "--data-memory", "100MiB"},
                      log.descriptor());
  const auto end = gate.executor().wait(20s);
  REQUIRE(end.has_value());
  CHECK_FALSE(end->ok());
  const std::string said = log.text();
  CHECK_MESSAGE(contains_words(said, "--data-memory 100 MiB leaves less than"), said);
  CHECK_MESSAGE(contains_words(said, "of 128 MiB for workers; give it less"), said);
}

}  // namespace orchid::tests
