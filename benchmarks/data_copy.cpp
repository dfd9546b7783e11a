// benchmarks/data_copy.cpp: how fast is a copy of a data object between two hosts, against raw UCX?
//
// Between two network namespaces joined by a virtual cable, over TCP: the two ends of a transfer as
// orchid-copy drives them, but for the sandbox; from a sealed memory file's mapping into that of a
// room. The rival: one active message of the object's size with UCX's default settings, from and to
// ordinary memory that has been touched, whose end the receiver tells with one byte; both spin.
// Each round makes the connection anew, which is not measured. In the last row the room's pages are
// new, as those of a copy are, and the kernel clears them meanwhile.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "forked_end.h"
#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "measured.h"
#include "network_pair.h"
#include "raw_round.h"
#include "timed_calls.h"
#include "transport/ucx_transfer.h"

namespace orchid::bench {
namespace {

using namespace transport;
using namespace std::chrono_literals;

constexpr double promised_bandwidth = 1.15;

struct Case {
  const char* name;
  std::size_t size;
  int copies;  // in one round
  bool fresh_pages = false;
};

LaneDeadline soon() { return std::chrono::steady_clock::now() + 60s; }

/// A shared mapping of a memory file, as a room is; unmapped at the end of its life.
class Room {
 public:
  [[nodiscard]] static Result<Room> make(std::size_t size) {
    const UniqueFd file(::memfd_create("room", MFD_CLOEXEC));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0)
      return fail_errno("memfd_create");
    void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (start == MAP_FAILED) return fail_errno("mmap");
    return Room({static_cast<std::byte*>(start), size});
  }
  Room(Room&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Room& operator=(Room&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Room() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit Room(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

/// A sender in a process on the far side: one transfer after the other. Owned by one thread.
class FarSender {
 public:
  [[nodiscard]] static Result<FarSender> start(const NetworkPair& network, int core,
                                               std::size_t size);
  /// How long the bytes took, in microseconds.
  [[nodiscard]] Result<double> copy(const Room& room, const TickRate& rate);

 private:
  FarSender(ForkedEnd sender, UcxContext context, const ConnectionKey& key, std::size_t size)
      : sender_(std::move(sender)), context_(std::move(context)), key_(key), size_(size) {}

  ForkedEnd sender_;  // says where the next transfer is to be had
  UcxContext context_;
  ConnectionKey key_;
  std::size_t size_;
};

/// The sender's life.
Result<void> send(const NetworkPair& network, const ConnectionKey& key, std::size_t size,
                  int report) {
  if (auto entered = network.enter_far_side(); !entered) return entered;
  auto context =
      UcxContext::create({.transports = transports_between_hosts, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  auto file = make_sealed_memory("object", std::vector<std::byte>(size, std::byte{1}));
  if (!file) return fail(std::move(file.error()));
  const auto object = MappedFile::map(file->get(), {.limit = {size}});
  if (!object) return fail(object.error());
  for (;;) {
    auto listener = UcxTransferListener::listen(
        *context, {.address = NetworkPair::there, .key = key, .bytes = {size}});
    if (!listener) return fail(std::move(listener.error()));
    if (auto said = say(report, listener->address()); !said) return said;
    auto sender = listener->accept(soon());
    if (!sender) return fail(std::move(sender.error()));
    if (auto served = sender->serve(object->bytes(), {.deadline = soon()}); !served) return served;
  }
}

Result<FarSender> FarSender::start(const NetworkPair& network, int core, std::size_t size) {
  ConnectionKey key;
  fill_random(key);
  auto sender = ForkedEnd::start({.name = "sender", .core = core},
                                 [&](int report) { return send(network, key, size, report); });
  if (!sender) return fail(std::move(sender.error()));
  auto context =
      UcxContext::create({.transports = transports_between_hosts, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  return FarSender(std::move(*sender), std::move(*context), key, size);
}

Result<double> FarSender::copy(const Room& room, const TickRate& rate) {
  const auto address = sender_.hear();
  if (!address) return fail(address.error());
  auto receiver = UcxTransferReceiver::connect(
      context_, {.address = *address, .key = key_, .bytes = {size_}, .deadline = soon()});
  if (!receiver) return fail(std::move(receiver.error()));
  std::uint64_t have = 0;
  const auto took = timed_calls(
      1, rate, [&] { return receiver->receive(room.bytes(), have, {.deadline = soon()}); });
  if (!took) return fail(took.error());
  return took->front();
}

Result<std::vector<double>> round_of_copies(const NetworkPair& network, int core, const Case& what,
                                            const TickRate& rate) {
  auto sender = FarSender::start(network, core, what.size);
  if (!sender) return fail(std::move(sender.error()));
  auto room = Room::make(what.size);
  if (!room) return fail(std::move(room.error()));
  std::memset(room->bytes().data(), 1, room->bytes().size());
  std::vector<double> values;
  for (int copy = -1; copy < what.copies; ++copy) {  // the first one warms up
    if (what.fresh_pages) {
      room = Room::make(what.size);
      if (!room) return fail(std::move(room.error()));
    }
    auto took = sender->copy(*room, rate);
    if (!took) return fail(std::move(took.error()));
    if (copy >= 0) values.push_back(*took);
  }
  return values;
}

int run(Bench& bench) {
  const auto [here, there] = two_cores();
  const NetworkPair network = must(NetworkPair::create());
  const TickRate rate = TickRate::measure();
  must(pin_this_thread(here));
  for (const Case& what :
       {Case{"copy 1 MiB", 1 << 20, 20}, Case{"copy 64 MiB", 64 << 20, 3},
        Case{"copy 256 MiB", 256 << 20, 1}, Case{"copy 64 MiB, new pages", 64 << 20, 3, true}}) {
    std::vector<Promise> promises;
    if (what.size > 1 << 20 && !what.fresh_pages)
      promises.push_back({Statistic::p50, {Target::Direction::at_most, 1 / promised_bandwidth}});
    const RawRound raw{.size = what.size, .times = what.copies, .server_core = there};
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&] { return round_of_copies(network, there, what, rate); },
                   .baseline = raw_messages(bench),
                   .baseline_round = [&] { return raw_round(network, raw, rate); },
                   .promises = promises});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("data_copy", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
