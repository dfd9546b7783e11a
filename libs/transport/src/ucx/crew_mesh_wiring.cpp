// How the members of a crew connect: a plain socket for each pair first, and UCX behind that.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "foundation/tcp.h"
#include "ucx/crew_greeting.h"
#include "ucx/crew_mesh.h"
#include "ucx/guests.h"
#include "ucx/hello.h"
#include "ucx/told_to_stop.h"

namespace orchid::transport {

class CrewDoor::State {
 public:
  explicit State(Guests of) : guests(std::move(of)) {}
  Guests guests;
};

CrewDoor::CrewDoor(std::unique_ptr<State> state) : state_(std::move(state)) {}
CrewDoor::CrewDoor(CrewDoor&& other) noexcept = default;
CrewDoor& CrewDoor::operator=(CrewDoor&& other) noexcept = default;
CrewDoor::~CrewDoor() = default;
int CrewDoor::port() const { return state_->guests.port(); }

Result<CrewDoor> CrewDoor::listen(const std::string& address) {
  auto guests = Guests::listen(
      {.address = address, .magic = crew_magic, .version = crew_version, .has_key = is_crew_hello});
  if (!guests) return fail(std::move(guests.error()));
  return CrewDoor(std::make_unique<State>(std::move(*guests)));
}

namespace {

/// Longer than the kernel waits before it asks a second time.
constexpr std::chrono::milliseconds redial{1500};

/// One wiring, from the first hello to the last sign that a peer is complete.
class Wiring {
 public:
  Wiring(UcxContext& context, CrewDoor* door, const CrewMesh::Options& options)
      : context_(context), door_(door), options_(options) {}
  [[nodiscard]] Result<std::unique_ptr<CrewMesh>> run();

 private:
  struct Pair {
    Door door;
    Hello hello;  // of the lower number
    Notice notice;
  };
  [[nodiscard]] bool connects_to(const CrewMesh::Peer& peer) const {
    return peer.member > options_.member;
  }
  [[nodiscard]] Result<UniqueFd> dial(const std::string& address) const;
  [[nodiscard]] Result<void> greet();
  [[nodiscard]] Result<void> admit();
  [[nodiscard]] Result<void> prove();
  [[nodiscard]] Result<void> thank(const CrewMesh::Peer& peer);
  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> exchange_notices();
  [[nodiscard]] Result<void> connect(std::uint32_t member, std::vector<TcpSocket>& known);
  [[nodiscard]] Result<void> shut_doors();
  [[nodiscard]] Result<void> complete();
  [[nodiscard]] Result<void> agree();
  [[nodiscard]] Result<void> check_time() const;

  UcxContext& context_;
  CrewDoor* door_;
  const CrewMesh::Options& options_;
  std::map<std::uint32_t, Pair> pairs_;
  std::unique_ptr<UcxCrewMesh> mesh_;
  std::optional<Doors> doors_;
};

Result<void> Wiring::check_time() const {
  if (is_told_to_stop(options_.stop))
    return fail(ErrorCode::cancelled, "told to stop wiring a crew");
  if (std::chrono::steady_clock::now() > options_.deadline)
    return fail(ErrorCode::timed_out, "the members of the crew did not connect in time");
  return {};
}

/// A host that does not answer is asked again, so that whoever tells us to stop is heard.
Result<UniqueFd> Wiring::dial(const std::string& address) const {
  for (;;) {
    const LaneDeadline soon = std::chrono::steady_clock::now() + redial;
    auto socket = connect_tcp(address, std::min(soon, options_.deadline), HostNames::refused);
    if (socket || socket.error().code != ErrorCode::timed_out) return socket;
    if (auto in_time = check_time(); !in_time) return fail(std::move(in_time.error()));
  }
}

/// All doors of higher numbers were open before anybody was told of them.
Result<void> Wiring::greet() {
  for (const CrewMesh::Peer& peer : options_.peers) {
    if (!connects_to(peer)) continue;
    auto socket = dial(peer.address);
    if (!socket) return fail(std::move(socket.error()));
    Door door(std::move(*socket), options_.deadline, options_.stop);
    auto hello = make_crew_hello(peer.key);
    if (!hello) return fail(std::move(hello.error()));
    if (auto sent = door.write(bytes_of(*hello)); !sent) return sent;
    pairs_.emplace(peer.member, Pair{std::move(door), *hello, {}});
  }
  return {};
}

Result<void> Wiring::admit() {
  std::vector<ConnectionKey> keys;
  std::vector<std::uint32_t> members;
  for (const CrewMesh::Peer& peer : options_.peers)
    if (!connects_to(peer)) {
      keys.push_back(peer.key);
      members.push_back(peer.member);
    }
  if (keys.empty()) return {};
  if (door_ == nullptr) return fail(ErrorCode::bad_request, "no door for those who connect");
  auto guests = door_->state().guests.wait_for_all(keys, options_.deadline, options_.stop);
  if (!guests) return fail(std::move(guests.error()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    Guests::Guest& guest = (*guests)[i];
    pairs_.emplace(
        members[i],
        Pair{Door(std::move(guest.socket), options_.deadline, options_.stop), guest.hello, {}});
  }
  return {};
}

/// Welcomes first: who waits for one here has sent his own.
Result<void> Wiring::prove() {
  std::map<std::uint32_t, CrewWelcome> welcomes;
  for (const CrewMesh::Peer& peer : options_.peers) {
    if (connects_to(peer)) continue;
    Pair& pair = pairs_.at(peer.member);
    auto welcome = CrewGreeting{peer.key, pair.hello}.welcome();
    if (!welcome) return fail(std::move(welcome.error()));
    if (auto sent = pair.door.write(bytes_of(*welcome)); !sent) return sent;
    welcomes.emplace(peer.member, *welcome);
  }
  for (const CrewMesh::Peer& peer : options_.peers)
    if (connects_to(peer))
      if (auto good = thank(peer); !good) return good;
  for (const CrewMesh::Peer& peer : options_.peers) {
    if (connects_to(peer)) continue;
    Pair& pair = pairs_.at(peer.member);
    CrewProof thanks{};
    if (auto got = pair.door.read(writable_bytes_of(thanks)); !got) return got;
    const CrewGreeting greeting{peer.key, pair.hello};
    if (auto good = greeting.check(welcomes.at(peer.member), thanks); !good) return good;
  }
  return {};
}

/// Another version sends no more than the first half.
Result<void> Wiring::thank(const CrewMesh::Peer& peer) {
  Pair& pair = pairs_.at(peer.member);
  auto answer = read_welcome(pair.door, crew_magic, crew_version);
  if (!answer) return fail(std::move(answer.error()));
  CrewWelcome welcome;
  std::memcpy(welcome.salt.data(), &answer->request_bytes, welcome.salt.size());
  if (auto got = pair.door.read(writable_bytes_of(welcome.proof)); !got) return got;
  const CrewGreeting greeting{peer.key, pair.hello};
  if (auto good = greeting.check(welcome); !good) return good;
  const auto thanks = greeting.thanks(welcome);
  if (!thanks) return fail(thanks.error());
  return pair.door.write(bytes_of(*thanks));
}

Result<void> Wiring::open() {
  const std::lock_guard lock(context_.state().making_worker());
  auto doors = Doors::watch(Doors::Peers::compute);
  if (!doors) return fail(std::move(doors.error()));
  auto mesh = UcxCrewMesh::open(context_, options_);
  if (!mesh) return fail(std::move(mesh.error()));
  const auto address = (*mesh)->address();
  if (!address) return fail(address.error());
  if (auto opened = doors->opened(*address); !opened) return opened;
  mesh_ = std::move(*mesh);
  doors_ = std::move(*doors);
  return {};
}

Result<void> Wiring::exchange_notices() {
  auto address = mesh_->address();
  if (!address) return fail(std::move(address.error()));
  const Notice own{doors_->ports(), std::move(*address)};
  for (auto& [member, pair] : pairs_)
    if (auto written = pair.door.write_notice(own); !written) return written;
  for (auto& [member, pair] : pairs_) {
    auto notice = pair.door.read_notice();
    if (!notice) return fail(std::move(notice.error()));
    pair.notice = std::move(*notice);
  }
  return {};
}

/// UCX makes its connections when it is told the peer's address, and the kernel takes its time.
Result<void> Wiring::connect(std::uint32_t member, std::vector<TcpSocket>& known) {
  Pair& pair = pairs_.at(member);
  if (auto connected = mesh_->connect(member, pair.notice.address); !connected) return connected;
  for (;;) {
    auto made = doors_->connections_to(pair.notice.ports, known);
    if (!made) return fail(std::move(made.error()));
    if (!made->empty()) {
      std::vector<SocketPair> names;
      for (const TcpSocket& connection : *made) names.push_back(connection.names);
      known.insert(known.end(), made->begin(), made->end());
      return pair.door.write_connections(names);
    }
    if (auto in_time = check_time(); !in_time) return in_time;
    ::sched_yield();
  }
}

/// From here on UCX reads from these peers alone.
Result<void> Wiring::shut_doors() {
  std::vector<TcpSocket> known;
  for (const CrewMesh::Peer& peer : options_.peers)
    if (connects_to(peer))
      if (auto connected = connect(peer.member, known); !connected) return connected;
  std::vector<SocketPair> welcome;
  for (const CrewMesh::Peer& peer : options_.peers) {
    if (connects_to(peer)) continue;
    auto named = pairs_.at(peer.member).door.read_connections();
    if (!named) return fail(std::move(named.error()));
    welcome.insert(welcome.end(), named->begin(), named->end());
  }
  return doors_->shut(welcome, options_.deadline, options_.stop);
}

/// The higher number makes its endpoint when it has heard from the lower one, so that it uses that
/// connection and makes none.
Result<void> Wiring::complete() {
  for (const CrewMesh::Peer& peer : options_.peers)
    if (connects_to(peer)) mesh_->say_ready(peer.member);
  std::map<std::uint32_t, bool> answered;
  for (;;) {
    bool all_ready = true;
    for (const CrewMesh::Peer& peer : options_.peers) {
      if (!mesh_->is_ready(peer.member)) {
        all_ready = false;
      } else if (!connects_to(peer) && !std::exchange(answered[peer.member], true)) {
        const Pair& pair = pairs_.at(peer.member);
        if (auto made = mesh_->connect(peer.member, pair.notice.address); !made) return made;
        mesh_->say_ready(peer.member);
      }
    }
    if (mesh_->failure()) return fail(*mesh_->failure());
    if (all_ready) return mesh_->flush(options_.deadline, options_.stop);
    if (!mesh_->progress()) ::sched_yield();
    if (auto in_time = check_time(); !in_time) return in_time;
  }
}

/// All peers say that they are complete. UCX goes on meanwhile: they may need it for that.
Result<void> Wiring::agree() {
  const std::byte sign{1};
  for (auto& [member, pair] : pairs_)
    if (auto said = pair.door.write(bytes_of(sign)); !said) return said;
  for (auto& [member, pair] : pairs_) {
    while (!pair.door.readable()) {
      if (!mesh_->progress()) ::sched_yield();
      if (mesh_->failure()) return fail(*mesh_->failure());
      if (auto in_time = check_time(); !in_time) return in_time;
    }
    std::byte theirs{};
    if (auto heard = pair.door.read(writable_bytes_of(theirs)); !heard) return heard;
  }
  return {};
}

Result<std::unique_ptr<CrewMesh>> Wiring::run() {
  using Step = Result<void> (Wiring::*)();
  for (const Step step :
       {&Wiring::greet, &Wiring::admit, &Wiring::prove, &Wiring::open, &Wiring::exchange_notices,
        &Wiring::shut_doors, &Wiring::complete, &Wiring::agree})
    if (auto done = (this->*step)(); !done) return fail(std::move(done.error()));
  return std::move(mesh_);
}

}  // namespace

Result<std::unique_ptr<CrewMesh>> CrewMesh::wire(UcxContext& context, CrewDoor* door,
                                                 const Options& options) {
  return Wiring(context, door, options).run();
}

}  // namespace orchid::transport
