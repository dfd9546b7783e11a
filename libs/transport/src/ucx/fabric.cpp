#include "ucx/fabric.h"

#include <algorithm>
#include <string_view>

namespace orchid::transport {
namespace {

constexpr const char* over_tcp = "tcp,self";
/// "rc" stands for the connections of all drivers, and for datagrams to set them up with, but for
/// nothing else.
constexpr const char* over_verbs = "rc,tcp,self";

bool is_connection(const UcxResource& resource) { return resource.transport.starts_with("rc_"); }
bool is_datagram(const UcxResource& resource) { return resource.transport.starts_with("ud_"); }
bool is_software(std::string_view device) { return device.starts_with("hfi1"); }

void add_name(std::string& list, std::string_view name) {
  if (!list.empty()) list += ',';
  list += name;
}

/// Devices of resources for which `fits` holds, in their order, each once.
template <typename Fits>
std::vector<std::string> devices_of(std::span<const UcxResource> resources, Fits fits) {
  std::vector<std::string> devices;
  for (const UcxResource& resource : resources)
    if (fits(resource) && std::ranges::find(devices, resource.device) == devices.end())
      devices.push_back(resource.device);
  return devices;
}

}  // namespace

TransportChoice choose_transports(std::span<const UcxResource> resources, Fabric fabric) {
  if (fabric == Fabric::tcp)
    return {.transports = over_tcp, .devices = "", .reason = "TCP, as it was told"};
  const auto connected = devices_of(resources, is_connection);
  const auto datagrams = devices_of(resources, is_datagram);
  TransportChoice choice{.transports = over_verbs, .devices = "", .reason = "", .verbs = true};
  std::string left_out;
  for (const std::string& device : datagrams)
    if (is_software(device) || std::ranges::find(connected, device) == connected.end())
      add_name(left_out, device);
  std::string used;
  for (const std::string& device : connected)
    if (!is_software(device) && std::ranges::find(datagrams, device) != datagrams.end())
      add_name(used, device);
  if (used.empty())
    return {.transports = over_tcp,
            .devices = "",
            .reason = left_out.empty()
                          ? "TCP: UCX finds no verbs device"
                          : "TCP: " + left_out + " has no connections, or does them in software"};
  choice.devices = used;
  // The connection is made over TCP, on whatever has an address.
  for (const std::string& device :
       devices_of(resources, [](const UcxResource& each) { return each.transport == "tcp"; }))
    add_name(choice.devices, device);
  choice.reason = "verbs on " + used;
  if (!left_out.empty()) choice.reason += ", not on " + left_out;
  return choice;
}

}  // namespace orchid::transport
