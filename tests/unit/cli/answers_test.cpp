#include "terminal/answers.h"

#include <doctest/doctest.h>

#include <string>

#include "orchid/error.h"

namespace orchid::cli {

TEST_CASE("what an answer does not have reads as nothing; what is of another kind is told") {
  const Answer answer(R"({"hosts": [{"name": "n1", "cores": 4}], "message": null})");
  CHECK(answer.root().objects("hosts").at(0).text("name") == "n1");
  CHECK(answer.root().objects("hosts").at(0).text("cpu").empty());
  CHECK(answer.root().text("message").empty());
  CHECK_NOTHROW(answer.check());
  CHECK(answer.root().objects("hosts").at(0).text("cores").empty());
  try {
    answer.check();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(std::string(error.message()).find("hosts[0].cores") != std::string::npos);
    CHECK(std::string(error.hint()).find("/version") != std::string::npos);
  }
}

TEST_CASE("an answer that is no JSON is told as such") {
  const Answer answer("<html>a proxy's page</html>");
  CHECK(answer.root().objects("hosts").empty());
  CHECK_THROWS_AS(answer.check(), Error);
}

}  // namespace orchid::cli
