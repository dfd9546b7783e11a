#include "ucx/fabric.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ucx/resources.h"

namespace orchid::transport {
namespace {

/// Of what `ucx_info -d` prints: the network devices with their transports. One that UCX names but
/// cannot open is listed as well: the choice must not need to know.
std::vector<UcxResource> parse_resources(std::istream& text) {
  std::vector<UcxResource> found;
  UcxResource current;
  const auto after = [](const std::string& line, const std::string& label) {
    const auto at = line.find(label);
    return at == std::string::npos ? std::string() : line.substr(at + label.size());
  };
  for (std::string line; std::getline(text, line);) {
    if (const auto transport = after(line, " Transport: "); !transport.empty())
      current = {transport, ""};
    if (const auto device = after(line, "    Device: "); !device.empty()) current.device = device;
    if (line.ends_with("Type: network")) found.push_back(current);
  }
  return found;
}

std::vector<UcxResource> recorded(const std::string& host) {
  std::ifstream file(std::string(RECORDINGS) + "/" + host + ".txt");
  const auto resources = parse_resources(file);
  REQUIRE_FALSE(resources.empty());
  return resources;
}

}  // namespace

TEST_CASE("with Ethernet alone it is TCP, trusted or not") {
  const auto resources = recorded("ethernet");
  CHECK(std::ranges::find(resources, UcxResource{"tcp", "eth0"}) != resources.end());
  for (const Fabric fabric : {Fabric::tcp, Fabric::trusted}) {
    const auto choice = choose_transports(resources, fabric);
    CHECK(choice.transports == "tcp,self");
    CHECK(choice.devices == "");
    CHECK_FALSE(choice.verbs);
  }
  CHECK(choose_transports({}, Fabric::trusted).transports == "tcp,self");
}

TEST_CASE("a Mellanox port of InfiniBand or RoCE is used on a trusted fabric, with TCP beside it") {
  const auto infiniband = choose_transports(recorded("mlx5_infiniband"), Fabric::trusted);
  CHECK(infiniband.transports == "rc,tcp,self");
  CHECK(infiniband.devices == "mlx5_0:1,lo,ib0,eth0");
  CHECK(infiniband.reason == "verbs on mlx5_0:1");
  CHECK(infiniband.verbs);
  const auto roce = choose_transports(recorded("mlx5_roce"), Fabric::trusted);
  CHECK(roce.transports == "rc,tcp,self");
  CHECK(roce.devices == "mlx5_bond_0:1,lo,eth0");
}

TEST_CASE("no device is used that the site does not trust its neighbours on") {
  for (const char* host : {"mlx5_infiniband", "mlx5_roce", "efa", "omnipath"}) {
    const auto choice = choose_transports(recorded(host), Fabric::tcp);
    CHECK(choice.transports == "tcp,self");
    CHECK(choice.devices == "");
  }
}

TEST_CASE("devices without connections, or with slow ones, are left to TCP") {
  const auto efa = choose_transports(recorded("efa"), Fabric::trusted);
  CHECK(efa.transports == "tcp,self");
  CHECK(efa.devices == "");
  CHECK(efa.reason.find("rdmap0s6:1") != std::string::npos);
  const auto omnipath = choose_transports(recorded("omnipath"), Fabric::trusted);
  CHECK(omnipath.transports == "tcp,self");
  CHECK(omnipath.reason.find("hfi1_0:1") != std::string::npos);
  // Beside one that is used, they are not.
  auto both = recorded("omnipath");
  const auto more = recorded("mlx5_roce");
  both.insert(both.end(), more.begin(), more.end());
  const auto choice = choose_transports(both, Fabric::trusted);
  CHECK(choice.devices == "mlx5_bond_0:1,lo,ib0,eth0");
  CHECK(choice.reason == "verbs on mlx5_bond_0:1, not on hfi1_0:1");
}

TEST_CASE("data never goes by datagrams, which UCX takes from anybody, nor through shared memory") {
  for (const char* host : {"ethernet", "mlx5_infiniband", "mlx5_roce", "efa", "omnipath"})
    for (const Fabric fabric : {Fabric::tcp, Fabric::trusted}) {
      std::istringstream list(choose_transports(recorded(host), fabric).transports);
      for (std::string one; std::getline(list, one, ',');)
        CHECK((one == "tcp" || one == "self" || one == "rc"));
    }
}

TEST_CASE("what UCX finds here has a context made of it") {
  REQUIRE(load_ucx().has_value());
  const auto found = find_resources();
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  CHECK(std::ranges::find(*found, UcxResource{"tcp", "lo"}) != found->end());
  const auto context = UcxContext::create({.fabric = Fabric::trusted});
  REQUIRE_MESSAGE(context.has_value(), context.error().message);
  CHECK(context->description().starts_with("UCX_TLS="));
  CHECK(context->uses_verbs() == context->description().starts_with("UCX_TLS=rc"));
  CHECK(UcxContext::create({}).value().description() == "UCX_TLS=tcp,self (TCP, as it was told)");
}

}  // namespace orchid::transport
