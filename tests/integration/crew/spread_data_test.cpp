// Calls of a crew at two executors that go on where a data object is.
#include <string>

#include "makes_modules.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

CrewFunction far_mover(Crew& crew, std::string_view name) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "goes_to_data.bc", name);
}

constexpr unsigned near_members = 2;
constexpr unsigned all_members = 4;
bool is_at_second(std::uint32_t member) { return member > near_members; }

}  // namespace

TEST_CASE_FIXTURE(SpreadFixture, "a call goes to the executor that has the object") {
  Crew crew = take({.workers = all_members});
  const CrewFunction make = far_mover(crew, "make_object");
  const CrewFunction go = far_mover(crew, "to_object");
  for (const bool by_name : {true, false})
    for (unsigned maker = 1; maker <= all_members; ++maker) {
      CAPTURE(maker);
      CAPTURE(by_name);
      const std::string name = (by_name ? "named" : "other") + std::to_string(maker);
      const std::string id = text_of(make.invoke(maker, name + '\0'));
      const std::string reference = by_name ? name + '\0' : id;
      source->put_data(
          std::string(reference.c_str()),
          {.hosts = {is_at_second(maker) ? ExecutorCrews::far_host : ExecutorCrews::near_host},
           .executors = {ExecutorCrews::id_of(is_at_second(maker) ? 1 : 0)}});
      // From where it is not, it goes to the same member each time.
      std::uint32_t elsewhere = 0;
      for (unsigned from = 1; from <= all_members; ++from) {
        const auto at = value_of<std::uint32_t>(go.invoke(from, reference));
        CHECK(is_at_second(at) == is_at_second(maker));
        if (is_at_second(from) == is_at_second(maker)) continue;
        CHECK((elsewhere == 0 || elsewhere == at));
        elsewhere = at;
      }
    }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "a call that no member's host has the data for is told who was asked") {
  Crew crew = take({.workers = all_members});
  const CrewFunction go = far_mover(crew, "to_object");
  source->put_data("far_away", {.hosts = {"n17", "n18"}, .executors = {"one", "another"}});
  // At whichever executor it begins, and more than once: a refusal is not remembered.
  for (unsigned from = 1; from <= all_members; ++from)
    for (int time = 0; time < 2; ++time) {
      const Error away = error_of([&] { (void)go.invoke(from, std::string("far_away") + '\0'); });
      check_clear(away, ErrorKind::function_error);
      CHECK(away.message().find("no member of the crew is on a host that has it") !=
            std::string::npos);
      const Error none = error_of([&] { (void)go.invoke(from, std::string("nonesuch") + '\0'); });
      check_clear(none, ErrorKind::function_error);
      CHECK(none.message().find("there is no data object 'nonesuch'") != std::string::npos);
    }
  // It has come to a member's host meanwhile; nothing is there, but the way is known.
  source->put_data("far_away", {.hosts = {"n17", ExecutorCrews::far_host},
                                .executors = {"one", ExecutorCrews::id_of(1)}});
  const Error gone = error_of([&] { (void)go.invoke(1, std::string("far_away") + '\0'); });
  check_clear(gone, ErrorKind::function_error);
  CHECK(gone.message().find("n17") != std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "of several executors on one host a call goes to the one that has the object") {
  start_third();
  // Members 1 and 2 are at the first one, which is elsewhere; 3 to 6 on one host.
  Crew crew = take({.workers = 6});
  const CrewFunction make = far_mover(crew, "make_object");
  const CrewFunction go = far_mover(crew, "to_object");
  const auto executor_of = [](std::uint32_t member) { return (member - 1) / 2; };
  // The one with the lower address has the lower numbers.
  const std::size_t of_lower = second.lane_address() < third->lane_address() ? 1 : 2;
  for (unsigned maker = 3; maker <= 6; ++maker)
    for (unsigned object = 0; object < 4; ++object) {
      CAPTURE(maker);
      CAPTURE(object);
      const std::string id = text_of(make.invoke(
          maker, std::string("of") + std::to_string(maker) + "_" + std::to_string(object) + '\0'));
      const std::size_t holder = maker <= 4 ? of_lower : 3 - of_lower;
      source->put_data(std::string(id.c_str()), {.hosts = {ExecutorCrews::far_host},
                                                 .executors = {ExecutorCrews::id_of(holder)}});
      for (unsigned from = 1; from <= 6; ++from)
        CHECK(executor_of(value_of<std::uint32_t>(go.invoke(from, id))) == executor_of(maker));
    }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture, "many calls ask at the same time where their data is") {
  Crew crew = take({.workers = all_members});
  const CrewFunction go = far_mover(crew, "to_object");
  const std::string id = text_of(far_mover(crew, "make_object").invoke(3, std::string("x") + '\0'));
  source->put_data(std::string(id.c_str()), {.hosts = {ExecutorCrews::far_host}, .executors = {}});
  std::vector<std::future<Reply>> ends;
  for (unsigned i = 0; i < 200; ++i) ends.push_back(go.async(i % all_members + 1, id));
  for (auto& end : ends) CHECK(is_at_second(value_of<std::uint32_t>(end.get())));
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
