#include "uct_stranger.h"

#include <arpa/inet.h>
#include <sys/wait.h>
#include <uct/api/uct.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>

namespace orchid::tests {
namespace {

void need_uct(ucs_status_t status) {
  if (status != UCS_OK) ::_exit(1);
}

uct_component_h tcp_component() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  need_uct(uct_query_components(&components, &count));
  for (uct_component_h component : std::span(components, count)) {
    uct_component_attr_t attributes{};
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    need_uct(uct_component_query(component, &attributes));
    if (std::string_view(attributes.name) == "tcp") return component;
  }
  ::_exit(1);
}

uct_iface_h open_interface(uct_worker_h worker) {
  uct_component_h tcp = tcp_component();
  uct_md_config_t* md_config = nullptr;
  need_uct(uct_md_config_read(tcp, nullptr, nullptr, &md_config));
  uct_md_h md = nullptr;
  need_uct(uct_md_open(tcp, "tcp", md_config, &md));
  uct_iface_config_t* config = nullptr;
  need_uct(uct_md_iface_config_read(md, "tcp", nullptr, nullptr, &config));
  uct_iface_params_t parameters{};
  parameters.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
  parameters.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  parameters.mode.device.tl_name = "tcp";
  parameters.mode.device.dev_name = "lo";
  uct_iface_h interface = nullptr;
  need_uct(uct_iface_open(md, worker, &parameters, config, &interface));
  uct_iface_progress_enable(interface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  return interface;
}

/// The connection stays until the process ends.
struct Connection {
  uct_worker_h worker = nullptr;
  uct_ep_h endpoint = nullptr;
};

Connection connect_to(int port) {
  Connection made;
  ucs_async_context_t* async = nullptr;
  need_uct(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
  need_uct(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &made.worker));
  uct_iface_h interface = open_interface(made.worker);
  std::array<char, 64> device{};
  std::array<char, 64> address{};
  need_uct(
      uct_iface_get_device_address(interface, reinterpret_cast<uct_device_addr_t*>(device.data())));
  need_uct(uct_iface_get_address(interface, reinterpret_cast<uct_iface_addr_t*>(address.data())));
  const std::uint16_t big_endian = htons(static_cast<std::uint16_t>(port));
  std::memcpy(address.data(), &big_endian, sizeof(big_endian));  // all there is in it
  uct_ep_params_t parameters{};
  parameters.field_mask =
      UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  parameters.iface = interface;
  parameters.dev_addr = reinterpret_cast<uct_device_addr_t*>(device.data());
  parameters.iface_addr = reinterpret_cast<uct_iface_addr_t*>(address.data());
  need_uct(uct_ep_create(&parameters, &made.endpoint));
  return made;
}

[[noreturn]] void put_and_exit(int port, std::uint64_t target) {
  const auto [worker, endpoint] = connect_to(port);
  std::array<char, 32> text{};
  text.fill('A');
  uct_iov_t piece{};
  piece.buffer = text.data();
  piece.length = text.size();
  piece.count = 1;
  uct_completion_t completion{};
  completion.count = 2;  // never called
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  auto status = UCS_ERR_NO_RESOURCE;
  while (std::chrono::steady_clock::now() < end) {
    if (status == UCS_ERR_NO_RESOURCE)
      status = uct_ep_put_zcopy(endpoint, &piece, 1, target, 0, &completion);
    uct_worker_progress(worker);
  }
  ::_exit(status == UCS_OK || status == UCS_INPROGRESS ? 0 : 1);
}

/// 25 words of 8 bytes: more than any header of UCP's has.
constexpr std::size_t message_words = 25;

std::size_t pack(void* room, void* word) {
  for (std::size_t i = 0; i < message_words; ++i)
    std::memcpy(static_cast<char*>(room) + i * sizeof(std::uint64_t), word, sizeof(std::uint64_t));
  return message_words * sizeof(std::uint64_t);
}

[[noreturn]] void send_and_exit(int port, unsigned number, std::span<const std::uint64_t> words) {
  const auto [worker, endpoint] = connect_to(port);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto end = now() + std::chrono::seconds(1);
  auto heard_until = end;  // after the last message it stays for a moment, so that all is read
  std::size_t sent = 0;
  while (now() < end && now() < heard_until) {
    uct_worker_progress(worker);
    if (sent == words.size()) continue;
    std::uint64_t word = words[sent];
    const auto status =
        uct_ep_am_bcopy(endpoint, static_cast<std::uint8_t>(number), pack, &word, 0);
    if (status == UCS_ERR_NO_RESOURCE) continue;
    if (status < 0) break;  // the victim has hung up
    if (++sent == words.size()) heard_until = now() + std::chrono::milliseconds(100);
  }
  ::_exit(sent > 0 ? 0 : 1);
}

bool ends_well(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

bool put_by_force(int port, std::uint64_t target) {
  const pid_t child = ::fork();
  if (child == 0) put_and_exit(port, target);
  return ends_well(child);
}

bool send_by_force(int port, unsigned number, std::span<const std::uint64_t> words) {
  const pid_t child = ::fork();
  if (child == 0) send_and_exit(port, number, words);
  return ends_well(child);
}

}  // namespace orchid::tests
