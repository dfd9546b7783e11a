// Calls that go on where a data object is.
#include <signal.h>

#include <array>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "chase_table.h"
#include "crew_fixture.h"
#include "makes_modules.h"
#include "named_data.h"
#include "orchid/function.h"
#include "protocol/data_id.h"

namespace orchid::tests {
namespace {

struct DataCrewFixture : CrewFixture {
  DataCrewFixture() {
    executor.be_gateway([this](const ControlMessage& message) { return data.hear(message); });
  }
  ~DataCrewFixture() { executor.be_gateway({}); }  // which ends after `data`
  [[nodiscard]] static CrewFunction mover(Crew& crew, std::string_view name) {
    return entry_of(crew, std::filesystem::path(FUNCTIONS) / "goes_to_data.bc", name);
  }
  [[nodiscard]] static std::string with_zero(const std::string& name) { return name + '\0'; }
  NamedData data;
};

}  // namespace

TEST_CASE_FIXTURE(DataCrewFixture, "a call goes to the member that has the object mapped") {
  Crew crew = take({.workers = 3});
  const CrewFunction make = mover(crew, "make_object");
  const CrewFunction open = mover(crew, "open_object");
  const CrewFunction go = mover(crew, "to_object");
  for (const bool by_name : {true, false})
    for (unsigned holder = 1; holder <= 3; ++holder) {
      const std::string name = (by_name ? "named" : "other") + std::to_string(holder);
      const std::string id = text_of(make.invoke(1, with_zero(name)));
      const std::string reference = by_name ? with_zero(name) : id;
      CHECK(value_of<std::uint32_t>(open.invoke(holder, reference)) == holder);
      for (unsigned from = 1; from <= 3; ++from)
        CHECK(value_of<std::uint32_t>(go.invoke(from, reference)) == holder);
    }
}

TEST_CASE_FIXTURE(DataCrewFixture, "what nobody has mapped has one place, whoever asks") {
  Crew crew = take({.workers = 3});
  const CrewFunction go = mover(crew, "to_object");
  for (int i = 0; i < 8; ++i) {
    const std::string id = text_of(mover(crew, "make_object").invoke(1, with_zero("x")));
    const auto first = value_of<std::uint32_t>(go.invoke(1, id));
    CHECK(value_of<std::uint32_t>(go.invoke(2, id)) == first);
    CHECK(value_of<std::uint32_t>(go.invoke(3, id)) == first);
  }
}

TEST_CASE_FIXTURE(DataCrewFixture, "a call cannot go where no data is, and is told why") {
  Crew crew = take({.workers = 2});
  const CrewFunction go = mover(crew, "to_object");
  const auto why = [&](const CrewFunction& function, const std::string& input) {
    const Error error = error_of([&] { (void)function.invoke(1, input); });
    check_clear(error, ErrorKind::function_error);
    return error.message();
  };
  CHECK(why(go, with_zero("nonesuch")).find("there is no data object 'nonesuch'") !=
        std::string::npos);
  CHECK(why(go, with_zero(to_string(make_data_id()))).find("there is no data object") !=
        std::string::npos);
  CHECK(why(go, with_zero("elsewhere")).find("no member of the crew is on a host that has it") !=
        std::string::npos);
  CHECK(why(go, "").find("none was given") != std::string::npos);
  CHECK(why(go, with_zero("no name at all")).find("no data has such a name") != std::string::npos);
  const std::string id = text_of(mover(crew, "make_object").invoke(1, with_zero("x")));
  CHECK(why(mover(crew, "to_object_as_child"), id).find("a child that was spawned") !=
        std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(DataCrewFixture, "chases over a table of data objects end where they should") {
  Crew crew = take({.workers = 3});
  const auto path = std::filesystem::path(EXAMPLES) / "chase.bc";
  const CrewFunction make_part = entry_of(crew, path, "chase_part");
  ChaseOverData asked;
  std::string ids;
  for (std::uint32_t part = 0; part < asked.parts; ++part)
    ids += text_of(make_part.invoke(
        part % 3 + 1, raw_bytes(std::array{asked.entries, part, asked.parts, std::uint32_t{0}})));
  CHECK(ids.size() == asked.parts * std::size_t{ORCHID_DATA_ID_SIZE});
  const std::string index = text_of(entry_of(crew, path, "chase_index").invoke(2, ids));
  std::ranges::copy(index, asked.index.begin());
  const CrewFunction chase = entry_of(crew, path, "chase_data");
  for (const std::uint32_t left : {0U, 1U, 64U, 4096U}) {
    asked.left = left;
    asked.at = left * 3;
    const auto end =
        value_of<ChaseEnd>(chase.invoke(left % 3 + 1, std::as_bytes(std::span(&asked, 1))));
    CHECK(end == follow(asked));
  }
  std::vector<std::future<Reply>> ends;
  std::vector<ChaseOverData> all;
  for (std::uint32_t i = 0; i < 16; ++i) {
    asked.at = i * 97;
    asked.left = 500;
    all.push_back(asked);
    ends.push_back(chase.async(1, std::as_bytes(std::span(&asked, 1))));
  }
  for (std::size_t i = 0; i < ends.size(); ++i)
    CHECK(value_of<ChaseEnd>(ends[i].get()) == follow(all[i]));
  CHECK(crew.formations() == 1);
  // The crew goes, and its data stays.
  all.resize(4);
  const auto pids = crew.pids();
  for (const unsigned formation : {1U, 2U}) {
    ends.clear();
    for (ChaseOverData& each : all) {
      each.left = 1000;
      ends.push_back(chase.async(each.at % 3 + 1, std::as_bytes(std::span(&each, 1))));
    }
    if (formation == 1) REQUIRE(::kill(static_cast<pid_t>(pids.at(1)), SIGKILL) == 0);
    for (std::size_t i = 0; i < ends.size(); ++i)
      CHECK(value_of<ChaseEnd>(ends[i].get()) == follow(all[i]));
    CHECK(eventually([&] { return crew.formations() > 1 && crew.pids().size() == 3; }));
  }
}

}  // namespace orchid::tests
