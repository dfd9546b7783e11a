#include "foundation/json_document.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <optional>
#include <random>
#include <string>

namespace orchid {
namespace {

/// What is told of `text` after `read` has read it.
template <typename Read>
std::string fault_in(std::string_view text, Read read) {
  const JsonDocument document(text, {.subject = "the note"});
  (void)read(document.root());
  const auto finished = document.finish();
  if (finished) return "none";
  CHECK(finished.error().code == ErrorCode::bad_request);
  return finished.error().message;
}

std::string fault_in(std::string_view text) {
  return fault_in(text, [](const JsonObject&) { return 0; });
}

enum class Colour { none, red };
std::optional<Colour> parse_colour(std::string_view name) {
  if (name == "red") return Colour::red;
  return std::nullopt;
}

TEST_CASE("fields are read as what they are") {
  const JsonDocument document(
      R"({"name":"n1","cores":4,"below":-5,"on":true,"tags":["a","b"],"ids":[1,2],"watts":2.5,)"
      R"("counts":{"calls":7},"host":{"kind":"red"},"gpus":[{"index":0},{"index":1}],"x":null,)"
      R"("pairs":[["a","b"]]})");
  const JsonObject o = document.root();
  CHECK(o.text("name") == "n1");
  CHECK(o.number<std::uint16_t>("cores") == 4);
  CHECK(o.number<std::int64_t>("cores") == 4);
  CHECK(o.number<int>("below") == -5);
  CHECK(o.flag("on"));
  CHECK(o.texts("tags") == std::vector<std::string>{"a", "b"});
  CHECK(o.numbers("ids") == std::vector<std::uint32_t>{1, 2});
  CHECK(o.numbers<std::uint64_t>("ids") == std::vector<std::uint64_t>{1, 2});
  CHECK(o.positive("watts", 10) == 2.5);
  CHECK(o.positive("cores", 10) == 4);
  CHECK(o.decimal("below", -5, 0) == -5);
  CHECK(o.decimal("watts", 0, 2.5) == 2.5);
  CHECK(o.numbers_by_name("counts").at("calls") == 7);
  CHECK(o.object("host").parsed("kind", parse_colour) == Colour::red);
  CHECK(o.object("host").dump() == R"({"kind":"red"})");
  const auto gpus = o.objects("gpus");
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[1].number<unsigned>("index") == 1);
  CHECK(o.text_pairs("pairs") == std::vector{std::pair<std::string, std::string>("a", "b")});
  CHECK(o.size("gpus") == 2);
  CHECK(o.size("name") == 0);
  CHECK(o.has("name"));
  CHECK_FALSE(o.has("x"));
  CHECK(document.finish(3).value() == 3);
}

TEST_CASE("a field of the wrong type is named, and so is one that is missing") {
  const std::string_view text =
      R"({"text":1,"number":"1","half":0.5,"flag":1,"texts":["a",1],"numbers":[1,-1],)"
      R"("object":[],"objects":[{},1],"pairs":[["a","b"],["c"]],"counts":{"a":-1}})";
  const auto fault = [&](auto read) { return fault_in(text, read); };
  CHECK(fault([](const JsonObject& o) { return o.text("text"); }) == "'text' must be a text");
  CHECK(fault([](const JsonObject& o) { return o.text("none"); }) == "'none' must be a text");
  CHECK(fault([](const JsonObject& o) {
          return o.number<int>("number");
        }).starts_with("'number' must be a whole number"));
  CHECK(fault([](const JsonObject& o) { return o.number<int>("half"); }).starts_with("'half'"));
  CHECK(fault([](const JsonObject& o) { return o.number<int>("none"); }).starts_with("'none'"));
  CHECK(fault([](const JsonObject& o) { return o.flag("flag"); }) ==
        "'flag' must be true or false");
  CHECK(fault([](const JsonObject& o) { return o.texts("texts").size(); }) ==
        "'texts' must be a list of texts");
  CHECK(fault([](const JsonObject& o) { return o.numbers("numbers").size(); }) ==
        "'numbers' must be a list of whole numbers");
  CHECK(fault([](const JsonObject& o) { return o.text_pairs("pairs").size(); }) ==
        "'pairs' must be a list of pairs of texts");
  CHECK(fault([](const JsonObject& o) { return o.object("object").has("a"); }) ==
        "'object' must be an object");
  CHECK(fault([](const JsonObject& o) { return o.objects("objects").size(); }) ==
        "'objects' must be a list of objects");
  CHECK(fault([](const JsonObject& o) { return o.numbers_by_name("counts").size(); }) ==
        "'counts' must hold whole numbers");
  CHECK(fault([](const JsonObject& o) { return o.numbers_by_name("texts").size(); }) ==
        "'texts' must be an object");
  CHECK(fault([](const JsonObject& o) { return o.positive("text", 9); }) == "none");
  CHECK(fault([](const JsonObject& o) { return o.positive("number", 9); }) ==
        "'number' must be a number above 0");
  CHECK(fault([](const JsonObject& o) { return o.parsed("object", parse_colour); }) ==
        "'object' must be a text");
}

TEST_CASE("what is out of its bounds is a fault that states them") {
  const std::string_view text =
      R"({"n":300,"below":-1,"vast":18446744073709551615,"list":["a","b"],"ids":[1,4294967296],)"
      R"("rows":[],"counts":{"a":1,"b":2},"watts":0,"kind":"blue"})";
  const auto fault = [&](auto read) { return fault_in(text, read); };
  CHECK(fault([](const JsonObject& o) { return o.number<std::uint8_t>("n"); }) ==
        "'n' must be a whole number from 0 to 255");
  CHECK(fault([](const JsonObject& o) {
          return o.number<unsigned>("n", {.least = 1, .most = 299});
        }) == "'n' must be a whole number from 1 to 299");
  CHECK(fault([](const JsonObject& o) { return o.number<std::uint64_t>("below"); }) ==
        "'below' must be a whole number from 0");
  CHECK(fault([](const JsonObject& o) { return o.number<std::int64_t>("vast"); }) ==
        "'vast' must be a whole number");
  CHECK(fault([](const JsonObject& o) { return o.number<std::uint64_t>("vast"); }) == "none");
  CHECK(fault([](const JsonObject& o) { return o.number<std::int64_t>("below", {.least = 0}); }) ==
        "'below' must be a whole number from 0");
  CHECK(fault([](const JsonObject& o) { return o.text("kind", 3); }) == "'kind' is too long");
  CHECK(fault([](const JsonObject& o) { return o.texts("list", {.most = 1}).size(); }) ==
        "'list' must be a list of at most 1 texts");
  CHECK(fault([](const JsonObject& o) { return o.numbers("ids").size(); }) ==
        "'ids' must be a list of whole numbers from 0 to 4294967295");
  CHECK(fault([](const JsonObject& o) {
          return o.objects("rows", {.least = 1, .most = 8}).size();
        }) == "'rows' must be a list of 1 to 8 objects");
  CHECK(fault([](const JsonObject& o) {
          return o.numbers_by_name("counts", {.most = 1}).size();
        }) == "'counts' must hold whole numbers, 1 at most");
  CHECK(fault([](const JsonObject& o) { return o.positive("watts", 9); }) ==
        "'watts' must be a number above 0");
  CHECK(fault([](const JsonObject& o) { return o.positive("n", 9); }) == "'n' is too large");
  CHECK(fault([](const JsonObject& o) { return o.decimal("n", 0, 1); }) ==
        "'n' must be a number from 0 to 1");
  CHECK(fault([](const JsonObject& o) { return o.parsed("kind", parse_colour); }) ==
        "'kind' has an unknown value");
  CHECK(fault([](const JsonObject& o) { return o.parsed("kind", parse_colour, "must be red"); }) ==
        "'kind' must be red");
}

TEST_CASE("what is optional may be missing, but not be wrong") {
  const JsonDocument document(R"({"n":"x","gone":null})");
  const JsonObject o = document.root().optional();
  CHECK(o.text("none").empty());
  CHECK(o.text("gone").empty());
  CHECK(o.number<unsigned>("none", {.least = 1, .otherwise = 7}) == 7);
  CHECK(o.number<int>("none", {.otherwise = -7}) == -7);
  CHECK_FALSE(o.flag("none"));
  CHECK(o.texts("none", {.least = 1}).empty());
  CHECK(o.numbers("none").empty());
  CHECK(o.numbers_by_name("none").empty());
  CHECK(o.positive("none", 1) == 0);
  CHECK(o.parsed("none", parse_colour) == Colour::none);
  CHECK(o.objects("none", {.least = 1}).empty());
  CHECK(o.object("none").object("inner").text("text").empty());
  CHECK(o.object("none").dump() == "{}");
  CHECK(document.finish().has_value());
  CHECK(o.number<unsigned>("n") == 0);
  CHECK_FALSE(document.finish().has_value());
}

TEST_CASE("the first fault is kept, with the whole path of its field") {
  CHECK(fault_in(R"({"hosts":[{},{"gpus":{"cores":"many"}}]})", [](const JsonObject& o) {
          const auto hosts = o.objects("hosts");
          const auto cores = hosts.at(1).object("gpus").number<unsigned>("cores");
          hosts.at(0).fault("name", "must be there");
          return cores;
        }).starts_with("'hosts[1].gpus.cores' must be a whole number"));
  CHECK(fault_in(R"({"a":1})", [](const JsonObject& o) {
          o.object("inner").fault("key", "must be even");
          return 0;
        }) == "'inner' must be an object");
  CHECK(fault_in(R"({"a":1})", [](const JsonObject& o) {
          o.fault("a", "must be even");
          return 0;
        }) == "'a' must be even");
}

TEST_CASE("keys that nobody asked for are faults where that is wanted") {
  const JsonRules strict{.subject = "the body", .unknown_key = "is not known here"};
  const auto fault = [&](std::string_view text) {
    const JsonDocument document(text, strict);
    const JsonObject o = document.root().optional();
    (void)o.text("name");
    (void)o.object("host").number<unsigned>("cores");
    (void)o.numbers_by_name("counts");
    for (const JsonObject& row : o.objects("rows")) (void)row.has("id");
    const auto finished = document.finish();
    return finished ? "none" : finished.error().message;
  };
  CHECK(fault(R"({"name":"n","host":{"cores":1},"rows":[{},{"id":1}],"counts":{"a":1}})") ==
        "none");
  CHECK(fault(R"({"name":"n","nme":null})") == "'nme' is not known here");
  CHECK(fault(R"({"name":"n","":1})") == "'' is not known here");
  CHECK(fault(R"({"host":{"cores":1,"core":2}})") == "'host.core' is not known here");
  CHECK(fault(R"({"rows":[{},{"id":1,"di":2}]})") == "'rows[1].di' is not known here");
  CHECK(fault(R"({"name":1,"nme":1})") == "'name' must be a text");
  CHECK(fault_in(R"({"nme":1})") == "none");
}

TEST_CASE("what is no JSON object is told so, and reads as nothing") {
  for (const char* text : {"[]", "1", "\"text\"", "null"})
    CHECK(fault_in(text) == "the note must be a JSON object");
  CHECK(fault_in("") == "the note is not JSON from byte 1 on");
  CHECK(fault_in(R"({"a":1)").starts_with("the note is not JSON from byte "));
  CHECK(fault_in(R"({"a":1} 2)").starts_with("the note is not JSON from byte 9"));
  CHECK(fault_in("{\"a\":\"\xff\"}").starts_with("the note is not JSON from byte "));
  CHECK(fault_in(R"({"a":1e999})").starts_with("the note is not JSON from byte "));
  CHECK(fault_in("{", [](const JsonObject& o) {
          return o.text("a");
        }).starts_with("the note is not JSON"));
}

TEST_CASE("a key that is there twice is a fault, also a deep one") {
  CHECK(fault_in(R"({"a":1,"b":2,"a":3})") == "the note names 'a' twice");
  CHECK(fault_in(R"({"a":[{"b":1,"b":null}]})") == "the note names 'b' twice");
  CHECK(fault_in(R"({"a":{"b":1},"c":{"b":1}})") == "none");
}

TEST_CASE("a document is nested so deeply and no deeper") {
  const auto nested = [](std::size_t depth) {
    return R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  CHECK(fault_in(nested(32)) == "none");
  CHECK(fault_in(nested(33)) == "the note is nested too deeply");
  CHECK(fault_in(nested(1'000'000)) == "the note is nested too deeply");
}

TEST_CASE("a document with a type is named by it") {
  JsonDocument good(R"({"type":"ping"})");
  CHECK(good.type() == "ping");
  (void)good.root().number<unsigned>("ack", {.most = 9});
  CHECK(good.finish().error().message ==
        "message 'ping': 'ack' must be a whole number from 0 to 9");
  JsonDocument bad("{}");
  CHECK(bad.type().empty());
  CHECK(bad.finish().error().message == "'type' must be a text");
}

TEST_CASE("a key of somebody else does not make a fault long") {
  CHECK(fault_in("{\"" + std::string(9'000, 'k') + "\":1,\"" + std::string(9'000, 'k') + "\":1}")
            .size() < 100);
}

/// Asks for everything, whatever it is.
std::size_t read_all(const JsonObject& o) {
  static constexpr std::array keys{"name", "cores", "host", "rows", "tags", "on", "w"};
  std::size_t sum = o.dump().size();
  for (const char* key : keys) {
    sum += o.text(key).size() + o.number<std::uint16_t>(key) + o.size(key);
    sum += static_cast<std::size_t>(o.number<std::int8_t>(key) > 0) + o.texts(key).size();
    sum += o.numbers(key).size() + o.numbers_by_name(key).size() + (o.flag(key) ? 1 : 0);
    sum += o.positive(key, 9) > 0 ? 1 : 0;
    sum += o.object(key).text("name").size();
    for (const JsonObject& row : o.objects(key)) sum += row.text("name").size();
  }
  return sum;
}

TEST_CASE("whatever bytes are changed, a document is read or refused, and never anything else") {
  const std::string good =
      R"({"name":"n\u00e41","cores":4,"host":{"name":"h","w":-2.5e3},"rows":[{"name":"r"},{}],)"
      R"("tags":["a","b"],"on":true,"w":[1,2,18446744073709551615]})";
  std::mt19937 random(20261125);  // NOLINT(bugprone-random-generator-seed): the same each time
  const std::string marks = R"({}[]",:0-e\u)";
  std::size_t refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = good;
    for (unsigned change = 1 + random() % 4; change > 0; --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = marks[random() % marks.size()];
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text.erase(at, 1 + random() % 8);
      }
      if (text.empty()) text = "{";
    }
    const JsonDocument document(text, {.unknown_key = "is not known"});
    (void)read_all(round % 2 == 0 ? document.root() : document.root().optional());
    if (!document.finish()) ++refused;
  }
  CHECK(refused > 20'000);
}

}  // namespace
}  // namespace orchid
