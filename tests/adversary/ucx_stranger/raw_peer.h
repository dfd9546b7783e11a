// raw_peer.h: somebody who speaks UCX to one of our links, without any of our code in between.
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace orchid::tests {

/// Has all features of UCP, over TCP, with puts done in software. Owned by the test's thread, which
/// also drives the victim.
class RawPeer {
 public:
  RawPeer();
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  [[nodiscard]] std::vector<std::byte> address() const;
  void connect(std::span<const std::byte> victim);

  struct Message {
    unsigned id = 1;
    std::span<const std::byte> header{};
    std::span<const std::byte> data{};
    unsigned flags = UCP_AM_SEND_FLAG_EAGER;
  };
  /// Returns when it has been sent, or is not going to be: after a second. `victim` lets the other
  /// end work meanwhile.
  void send(const Message& message, const std::function<void()>& victim);
  /// Puts `text` at `address` of the victim, with a key that was made for memory of our own.
  void put(std::span<const std::byte> text, std::uint64_t address,
           const std::function<void()>& victim);
  void get(std::span<std::byte> room, std::uint64_t address, const std::function<void()>& victim);
  void progress() { ucp_worker_progress(worker_); }

 private:
  [[nodiscard]] ucp_rkey_h forged_key();
  void finish(ucs_status_ptr_t request, const std::function<void()>& victim);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::vector<std::byte> own_ = std::vector<std::byte>(4096);
  ucp_mem_h own_memory_ = nullptr;
};

}  // namespace orchid::tests
