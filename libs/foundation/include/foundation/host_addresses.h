// foundation/host_addresses.h: this host, and what addresses of a gateway mean on another one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace orchid {

/// Of the running kernel; two hosts never have the same. Empty where /proc is hidden.
[[nodiscard]] std::string own_boot_id();
[[nodiscard]] std::string own_host_name();

/// Of "http://127.0.0.1:80", "[::1]:80" and "localhost:80": only this host reaches it.
[[nodiscard]] bool is_loopback(std::string_view address);
/// "http://0.0.0.0:80" with the name of the host in place of "all addresses".
[[nodiscard]] std::string with_host(std::string_view address, std::string_view host_name);
/// Those of a gateway on the host of that name by which other hosts may reach it.
[[nodiscard]] std::vector<std::string> addresses_from_elsewhere(
    const std::vector<std::string>& addresses, std::string_view host_name);

/// "192.0.2.7:0": this host's address on the way to "host:port"; empty: no way. Names are looked
/// up.
[[nodiscard]] std::string address_towards(const std::string& address);

}  // namespace orchid
