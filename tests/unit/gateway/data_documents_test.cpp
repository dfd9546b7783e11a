#include "data/data_documents.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "protocol/data_id.h"

namespace orchid::gateway {

TEST_CASE("an object's document says which executors of which hosts have it, and no secret") {
  const DataObject object{.id = make_data_id(),
                          .name = "climate",
                          .version = 3,
                          .secret = "geheim",
                          .state = DataState::sealed,
                          .holders = {{ExecutorId("e2"), "n1"}, {ExecutorId("e1"), "n1"}},
                          .arriving = {{ExecutorId("e3"), "n2"}}};
  const auto shown = nlohmann::json::parse(data_json(object, {}));
  CHECK(shown.at("hosts") == nlohmann::json::array({"n1"}));
  CHECK(shown.at("executors") == nlohmann::json::array({"e1", "e2"}));
  CHECK(shown.at("copies") == 2);
  CHECK(shown.at("arriving_at") == nlohmann::json::array({"n2"}));
  CHECK(shown.dump().find("geheim") == std::string::npos);
}

}  // namespace orchid::gateway
