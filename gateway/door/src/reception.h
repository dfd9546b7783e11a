// src/reception.h: accepts the door's connections and makes a process for each client.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <list>
#include <optional>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/door_messages.h"

namespace orchid::door {

struct ReceptionOptions {
  std::filesystem::path gateway;    // its socket for us, where everybody needs a token
  std::size_t clients = 256;        // processes, those of newcomers included
  std::size_t of_one_address = 64;  // clients from one IP address
  std::size_t newcomers = 16;       // clients whose token is being looked at
  std::size_t silent = 64;          // connections without a hello; the oldest is cut for the next
  std::chrono::milliseconds hello_time{3000};  // for a hello
};

/// Owned by the process's one thread. Reads 16 bytes of a stranger, allocates nothing more for one,
/// and never speaks UCX.
class Reception {
 public:
  Reception(int listener, ReceptionOptions options);
  /// Returns when it cannot go on.
  [[nodiscard]] Failure run();

 private:
  using Address = std::array<std::byte, 16>;  // in IPv6 form
  struct Silent {
    UniqueFd socket;
    Address address{};
    MonotonicTime due;
    std::array<std::byte, sizeof(DoorHello)> bytes{};
    std::size_t got = 0;
  };
  struct Client {
    pid_t pid = -1;
    UniqueFd channel;
    Address address{};
    bool admitted = false;
    bool wants_connection = false;  // another one to the gateway
    MonotonicTime next_connection;  // not before it does it get one
  };
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<void> accept_all();
  void hear_silent();
  [[nodiscard]] bool hear(Silent& silent);
  void take_in(Silent& silent, const DoorHello& hello);
  [[nodiscard]] std::optional<std::string> why_full(const Address& address) const;
  void start(Silent& silent, const DoorHello& hello);
  void hear_clients();
  [[nodiscard]] bool hear(Client& client);
  [[nodiscard]] bool give_connection(Client& client) const;
  static void end(const Client& client);

  UniqueFd listener_;
  ReceptionOptions options_;
  Result<void> ucx_;          // whether it is installed
  std::list<Silent> silent_;  // oldest first
  std::list<Client> clients_;
};

}  // namespace orchid::door
