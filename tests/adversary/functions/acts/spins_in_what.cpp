// Throws an exception that never says what it is.
#include <exception>

#include "../act.h"

struct NeverSays : std::exception {
  const char* what() const noexcept override {
    spin_for_ever();
    return "";
  }
};

ACT(spins_in_what) { throw NeverSays(); }
