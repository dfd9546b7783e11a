// benchmarks/data_copy.cpp: how fast is a copy of a data object between two hosts, against raw UCX?
//
// Between two network namespaces joined by a virtual cable, over TCP: the two ends of a transfer as
// orchid-copy drives them, but for the sandbox; from a sealed memory file's mapping into that of a
// room. The rival: one active message of the object's size with UCX's default settings, from and to
// ordinary memory that has been touched, whose end the receiver tells with one byte; both spin.
// Each round makes the connection anew, which is not measured. In the last row the room's pages are
// new, as those of a copy are, and the kernel clears them meanwhile.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "network_pair.h"
#include "raw_ucx.h"
#include "transport/ucx_transfer.h"

namespace orchid::bench {
namespace {

using namespace transport;
using namespace std::chrono_literals;

constexpr const char* transports = "tcp,self";
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

/// A sender in a child process on the far side: one transfer after the other. Owned by one thread.
class FarSender {
 public:
  [[nodiscard]] static Result<FarSender> start(const NetworkPair& network, int core,
                                               std::size_t size);
  FarSender(FarSender&& other) noexcept
      : context_(std::move(other.context_)),
        key_(other.key_),
        size_(other.size_),
        addresses_(std::move(other.addresses_)),
        process_(std::exchange(other.process_, -1)) {}
  FarSender& operator=(FarSender&&) = delete;
  ~FarSender() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  /// How long the bytes took, in microseconds.
  [[nodiscard]] Result<double> copy(const Room& room, const TickRate& rate);

 private:
  FarSender(UcxContext context, const ConnectionKey& key, std::size_t size, UniqueFd addresses,
            pid_t process)
      : context_(std::move(context)),
        key_(key),
        size_(size),
        addresses_(std::move(addresses)),
        process_(process) {}
  static Result<void> send(const NetworkPair& network, const ConnectionKey& key, std::size_t size,
                           int addresses);

  UcxContext context_;
  ConnectionKey key_;
  std::size_t size_;
  UniqueFd addresses_;  // packets: where the next transfer is to be had
  pid_t process_ = -1;
};

/// The child's life.
Result<void> FarSender::send(const NetworkPair& network, const ConnectionKey& key, std::size_t size,
                             int addresses) {
  if (auto entered = network.enter_far_side(); !entered) return entered;
  auto context = UcxContext::create({.transports = transports, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  auto file = make_sealed_memory("object", std::vector<std::byte>(size, std::byte{1}));
  if (!file) return fail(std::move(file.error()));
  const auto object = MappedFile::map(file->get(), {.limit = {size}});
  if (!object) return fail(object.error());
  for (;;) {
    auto listener = UcxTransferListener::listen(
        *context, {.address = NetworkPair::there, .key = key, .bytes = {size}});
    if (!listener) return fail(std::move(listener.error()));
    const std::string& address = listener->address();
    if (::send(addresses, address.data(), address.size(), MSG_NOSIGNAL) < 0)
      return fail_errno("send");
    auto sender = listener->accept(soon());
    if (!sender) return fail(std::move(sender.error()));
    if (auto served = sender->serve(object->bytes(), {.deadline = soon()}); !served) return served;
  }
}

Result<FarSender> FarSender::start(const NetworkPair& network, int core, std::size_t size) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  ConnectionKey key;
  fill_random(key);
  const pid_t process = ::fork();
  if (process < 0) return fail_errno("fork");
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ours.reset();
    if (core >= 0) (void)pin_this_thread(core);
    if (auto sent = send(network, key, size, theirs.get()); !sent)
      std::fprintf(stderr, "sender: %s\n", sent.error().message.c_str());
    ::_exit(1);
  }
  auto context = UcxContext::create({.transports = transports, .devices = NetworkPair::device});
  if (!context) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    return fail(std::move(context.error()));
  }
  return FarSender(std::move(*context), key, size, std::move(ours), process);
}

Result<double> FarSender::copy(const Room& room, const TickRate& rate) {
  std::array<char, 64> address{};
  if (::recv(addresses_.get(), address.data(), address.size() - 1, 0) <= 0)
    return fail(ErrorCode::unreachable, "the sender has ended");
  auto receiver = UcxTransferReceiver::connect(
      context_, {.address = address.data(), .key = key_, .bytes = {size_}, .deadline = soon()});
  if (!receiver) return fail(std::move(receiver.error()));
  std::uint64_t have = 0;
  const std::uint64_t start = ticks_now();
  if (auto received = receiver->receive(room.bytes(), have, {.deadline = soon()}); !received)
    return fail(std::move(received.error()));
  return static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000;
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

Result<std::vector<double>> round_of_messages(const NetworkPair& network, int core,
                                              const Case& what, const TickRate& rate) {
  auto raw = RawUcxEcho::start({.transports = transports,
                                .server_core = core,
                                .largest = what.size,
                                .devices = NetworkPair::device,
                                .server_namespace = network.far_namespace(),
                                .one_way = true});
  if (!raw) return fail(std::move(raw.error()));
  std::vector<double> values;
  for (int message = -1; message < what.copies; ++message) {
    const std::uint64_t start = ticks_now();
    if (auto done = raw->round_trip(what.size); !done) return fail(std::move(done.error()));
    if (message >= 0)
      values.push_back(static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000);
  }
  return values;
}

/// Each round starts both of its processes' ends anew: a rival that spins beside ours would be
/// measured with it.
int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("data_copy needs two cores\n", stderr);
    return 3;
  }
  auto network = NetworkPair::create();
  if (!network) {
    std::fprintf(stderr, "data_copy: %s\n", network.error().message.c_str());
    return 3;
  }
  const TickRate rate = TickRate::measure();
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  for (const Case& what :
       {Case{"copy 1 MiB", 1 << 20, 20}, Case{"copy 64 MiB", 64 << 20, 3},
        Case{"copy 256 MiB", 256 << 20, 1}, Case{"copy 64 MiB, new pages", 64 << 20, 3, true}}) {
    std::vector<Promise> promises;
    if (what.size > 1 << 20 && !what.fresh_pages)
      promises.push_back({Statistic::p50, {Target::Direction::at_most, 1 / promised_bandwidth}});
    bench.compare(
        {.row = what.name,
         .unit = "us",
         .round = [&] { return round_of_copies(*network, cores[1], what, rate); },
         .baseline = {"raw UCX active messages", bench.command_line(),
                      std::string("UCX_TLS=") + transports},
         .baseline_round = [&] { return round_of_messages(*network, cores[1], what, rate); },
         .promises = promises});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("data_copy", argc, argv);
  return orchid::bench::run(bench);
}
