// Has a thousand static objects, each with a constructor of its own.
#include <cstddef>
#include <utility>

#include "../act.h"

static volatile int made = 0;

template <int Number>
struct Counted {
  [[gnu::noinline]] Counted() { made = made + 1; }
  static Counted object;
};
template <int Number>
Counted<Number> Counted<Number>::object;

template <int... Numbers>
static std::size_t use_all(std::integer_sequence<int, Numbers...>) {
  const void* const all[] = {&Counted<Numbers>::object...};
  return sizeof all / sizeof *all;
}

ACT(has_many_initialisers) {
  const std::size_t count = use_all(std::make_integer_sequence<int, 1000>());
  return say(call, count == 1000 && made == 1000 ? "loaded" : "odd");
}
