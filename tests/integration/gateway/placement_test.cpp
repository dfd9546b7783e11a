// What a site says of placement: a policy by name or as a library, limits of users.
#include <doctest/doctest.h>
#include <pwd.h>
#include <unistd.h>

#include <fstream>

#include "foundation/random.h"
#include "gateway_process.h"

namespace orchid::test {
namespace {

using nlohmann::json;

/// A file that goes with its owner.
class Configuration {
 public:
  explicit Configuration(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("orchid-" + random_hex(6) + ".toml")) {
    std::ofstream(path_) << content;
  }
  ~Configuration() { std::filesystem::remove(path_); }
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;
  [[nodiscard]] const std::string& path() const { return path_.native(); }

 private:
  std::filesystem::path path_;
};

Answer ask_for_lease(const GatewayProcess& gateway, const json& request) {
  return gateway.ask({.method = "POST",
                      .path = "/v1/leases",
                      .body = request.dump(),
                      .headers = "Content-Type: application/json\r\n"});
}

/// Of the policy that decided about a lease: there is no executor, so it is refused, and explained.
std::string deciding_policy(const GatewayProcess& gateway) {
  const Answer refused = ask_for_lease(gateway, {{"workers", 1}});
  REQUIRE(refused.status == 503);
  const std::size_t begin = refused.body.find("l-");
  REQUIRE_MESSAGE(begin != std::string::npos, refused.body);
  const std::string id =
      refused.body.substr(begin, refused.body.find_first_not_of("l-0123456789", begin) - begin);
  const Answer why = gateway.ask({.path = "/v1/leases/" + id + "/placement"});
  REQUIRE(why.status == 200);
  return json::parse(why.body).at("decisions").at(0).at("policy");
}

Ended start_with_policy(const std::string& policy) {
  const auto state = std::filesystem::temp_directory_path() / ("orchid-policy-" + random_hex(6));
  Ended ended =
      run_to_end({ORCHID_GATEWAY, "--state", state.string(), "--placement-policy", policy});
  std::filesystem::remove_all(state);
  return ended;
}

std::string own_name() {
  const passwd* user = ::getpwuid(::geteuid());
  return user == nullptr ? "uid " + std::to_string(::geteuid()) : user->pw_name;
}

TEST_CASE("the policy that the configuration names decides") {
  const Configuration pack("[placement]\npolicy = \"pack\"\n");
  CHECK(deciding_policy(GatewayProcess({"--config", pack.path()})) == "pack");
  CHECK(deciding_policy(GatewayProcess()) == "spread");
}

TEST_CASE("a site's own policy is a library") {
  const Configuration own("[placement]\npolicy = \"" QUIET_HOSTS "\"\n");
  CHECK(deciding_policy(GatewayProcess({"--config", own.path()})) == "quiet_hosts");
}

TEST_CASE("what is no lease's id is said to be none") {
  const GatewayProcess gateway;
  for (const char* path : {"/v1/leases/1", "/v1/leases/nonsense/placement"}) {
    const Answer answer = gateway.ask({.path = path});
    CHECK(answer.status == 404);
    CHECK(answer.body.find("like l-3-17") != std::string::npos);
  }
  CHECK(gateway.ask({.method = "DELETE", .path = "/v1/leases/1"}).status == 404);
}

TEST_CASE("a policy that is not there is named, with what there could be") {
  const Ended missing = start_with_policy("/nonexistent/policy.so");
  CHECK(missing.status == 3);
  CHECK(missing.errors.find("placement_policy") != std::string::npos);
  CHECK(missing.errors.find("/nonexistent/policy.so") != std::string::npos);
  const Ended unknown = start_with_policy("packed");
  CHECK(unknown.status == 3);
  CHECK(unknown.errors.find("packed") != std::string::npos);
  CHECK(unknown.errors.find("energy") != std::string::npos);
  CHECK(start_with_policy(OTHER_ABI).errors.find("version") != std::string::npos);
}

TEST_CASE("a user's quota is answered with 429 and says what it is") {
  const Configuration quota("[tenants.\"" + own_name() +
                            "\"]\nweight = 0.5\ncores = 3\ngpus = 0\nleases = 8\n");
  const GatewayProcess gateway({"--config", quota.path()});
  const Answer cores = ask_for_lease(gateway, {{"alternatives", {{{"cores", 4}}}}});
  CHECK(cores.status == 429);
  CHECK(cores.body.find("3 cores at a time, and this request wants 4") != std::string::npos);
  const Answer gpus = ask_for_lease(gateway, {{"gpus", 1}});
  CHECK(gpus.status == 429);
  CHECK(gpus.body.find("0 GPUs") != std::string::npos);
  CHECK(ask_for_lease(gateway, {{"workers", 9}, {"cores_per_worker", 1}}).status == 429);
  // What the quota allows is only not there.
  CHECK(ask_for_lease(gateway, {{"workers", 3}}).status == 503);
}

TEST_CASE("what is wrong in a tenant's table is named") {
  const auto start_with = [](const std::string& content) {
    const Configuration file(content);
    const auto state = std::filesystem::temp_directory_path() / ("orchid-config-" + random_hex(6));
    Ended ended = run_to_end({ORCHID_GATEWAY, "--config", file.path(), "--state", state.string()});
    std::filesystem::remove_all(state);
    CHECK(ended.status == 2);
    return ended.errors;
  };
  CHECK(start_with("[tenants.ada]\nwight = 2\n").find("'wight'") != std::string::npos);
  CHECK(start_with("[tenants.ada]\nweight = 0\n").find("above 0") != std::string::npos);
  CHECK(start_with("[tenants.ada]\ncores = -1\n").find("cores") != std::string::npos);
  CHECK(start_with("[tenants]\nada = 3\n").find("[tenants.NAME]") != std::string::npos);
  CHECK(start_with("tenants = 3\n").find("tenants") != std::string::npos);
  CHECK(start_with("[placement]\nwatts_per_host = \"much\"\n").find("watts_per_host") !=
        std::string::npos);
}

}  // namespace
}  // namespace orchid::test
