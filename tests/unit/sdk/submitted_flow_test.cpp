// Submitted flows, at a gateway of today and at older ones.
#include "orchid/submitted_flow.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "fake_gateway.h"
#include "orchid/client.h"

using orchid::Client;
using orchid::FlowStatus;
using orchid::tests::FakeAnswer;
using orchid::tests::FakeGateway;
using orchid::tests::FakeRequest;

namespace {

enum class NodesWord : unsigned char { known, ignored, refused };

bool is_brief(const FakeRequest& request) {
  return request.target.find("nodes=none") != std::string::npos;
}

/// What a gateway says of a flow that is done.
FakeAnswer answer_of(NodesWord word, const FakeRequest& request) {
  if (is_brief(request) && word == NodesWord::refused)
    return {.status = 400,
            .body =
                R"({"title":"bad_request","status":400,)"
                R"("detail":"the query parameter 'nodes' is not known: this path takes wait"})"};
  const bool has_nodes = !is_brief(request) || word != NodesWord::known;
  return {.status = request.method == "POST" ? 201 : 200,
          .body = std::string(R"({"id":"f-1","flow":"one","state":"done","nodes_done":1,)"
                              R"("nodes_total":1)") +
                  (has_nodes ? R"(,"nodes":[{"node":"a","state":"done"}]})" : "}")};
}

}  // namespace

TEST_CASE("a flow is submitted and waited for at gateways that know of no brief answers, too") {
  for (const NodesWord word : {NodesWord::known, NodesWord::ignored, NodesWord::refused}) {
    CAPTURE(static_cast<int>(word));
    FakeGateway gateway([word](const FakeRequest& request) { return answer_of(word, request); });
    Client client({.gateway = gateway.address()});
    const auto flow = client.submit_flow({.document = "flow: one"});
    CHECK(flow.id() == "f-1");
    const FlowStatus ended = flow.wait(std::chrono::seconds(20));
    CHECK(ended.has_ended());
    CHECK((ended.json.find("\"nodes\"") == std::string::npos) == (word == NodesWord::known));
    CHECK(flow.progress().has_ended());
    std::vector<std::string> keys;
    for (const FakeRequest& request : gateway.requests())
      if (request.method == "POST") keys.push_back(request.header("idempotency-key"));
    // It is the same submission when it is sent once more.
    REQUIRE(keys.size() == (word == NodesWord::refused ? 2 : 1));
    CHECK_FALSE(keys.front().empty());
    CHECK(keys.front() == keys.back());
    // What was refused once is not said again.
    CHECK(gateway.requests().size() == (word == NodesWord::refused ? 4 : 3));
    CHECK(gateway.requests().back().target ==
          (word == NodesWord::refused ? "/v1/flows/f-1" : "/v1/flows/f-1?nodes=none"));
  }
}

TEST_CASE("a flow that is refused is refused for what is wrong with it") {
  FakeGateway gateway([](const FakeRequest&) {
    return FakeAnswer{.status = 400, .body = R"({"detail":"it has no nodes"})"};
  });
  Client client({.gateway = gateway.address()});
  CHECK_THROWS_WITH_AS((void)client.submit_flow({.document = "flow: none"}),
                       doctest::Contains("it has no nodes"), orchid::Error);
  CHECK(gateway.requests().size() == 1);  // it is the flow, and not how it was asked for
}
