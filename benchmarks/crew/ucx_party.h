// crew/ucx_party.h: one process's UCX: a worker that is shared by all its peers, with an endpoint
// for each.
#pragma once
#include <ucp/api/ucp.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crew/board.h"
#include "foundation/result.h"

namespace orchid::bench {

/// Owned by one thread; stays where it is.
class UcxParty {
 public:
  struct Options {
    std::string transports;      // UCX_TLS
    std::string devices;         // UCX_NET_DEVICES; empty: all
    bool as_lanes = false;       // the settings of Orchid's lane between hosts, and errors of peers
    bool wakes = false;          // it may sleep
    bool remote_memory = false;  // peers may read and write what is mapped for them
  };
  [[nodiscard]] static Result<std::unique_ptr<UcxParty>> open(const Options& options);
  UcxParty(const UcxParty&) = delete;
  UcxParty& operator=(const UcxParty&) = delete;
  ~UcxParty();

  [[nodiscard]] std::vector<std::byte> address() const;
  /// Number 0 belongs to `wire`.
  void handle(unsigned id, ucp_am_recv_callback_t callback, void* argument);
  [[nodiscard]] Result<void> connect(unsigned peer, std::span<const std::byte> address);
  /// Everybody connects to everybody, once for each pair: the lower number does it, and the higher
  /// one makes its endpoint when that connection is there.
  [[nodiscard]] Result<void> wire(Board& board, unsigned self, unsigned count);

  /// Room for one message; stays the sender's until UCX is done with it.
  struct Slot {
    UcxParty* party = nullptr;
    Slot* next_free = nullptr;
    alignas(64) std::array<std::byte, 2048> bytes;
  };
  [[nodiscard]] Slot* take_slot();
  /// The first `size` bytes of a slot as one eager message, UCX's shortest way.
  void send(unsigned peer, unsigned id, Slot* slot, std::size_t size);
  /// Messages that UCX has not taken over yet.
  [[nodiscard]] std::size_t sending() const { return sending_; }
  bool progress() { return ucp_worker_progress(worker_) != 0; }

  [[nodiscard]] int wake_descriptor() const { return wake_descriptor_; }
  [[nodiscard]] bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }

  [[nodiscard]] ucp_context_h context() const { return context_; }
  [[nodiscard]] ucp_worker_h worker() const { return worker_; }
  [[nodiscard]] ucp_ep_h endpoint(unsigned peer) const { return peers_[peer].endpoint; }
  [[nodiscard]] bool is_lost(unsigned peer) const { return peers_[peer].lost; }
  /// The first send that failed, or peer that was lost.
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }

 private:
  struct Peer {
    UcxParty* party = nullptr;
    ucp_ep_h endpoint = nullptr;
    bool ready = false;  // it has said so
    bool lost = false;
  };
  UcxParty() = default;
  [[nodiscard]] Result<void> start(const Options& options);
  void say_ready(unsigned peer);
  void connect_back(const Board& board, unsigned self);
  void free_slot(Slot* slot);
  void fail_with(const char* step, ucs_status_t status);
  static ucs_status_t on_ready(void* self, const void* header, std::size_t header_length,
                               void* data, std::size_t length,
                               const ucp_am_recv_param_t* parameters);
  static void on_sent(void* request, ucs_status_t status, void* slot);
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int wake_descriptor_ = -1;
  bool as_lanes_ = false;
  std::array<Peer, most_processes> peers_{};
  unsigned ready_peers_ = 0;
  std::uint32_t own_number_ = 0;
  std::deque<Slot> slots_;
  Slot* free_list_ = nullptr;
  std::size_t sending_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace orchid::bench
