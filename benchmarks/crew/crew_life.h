// crew/crew_life.h: the life of one process of a crew.
#pragma once
#include "crew/crew.h"

namespace orchid::bench {

/// What the main process says over a control socket; it is answered with one byte.
struct CrewOrder {
  unsigned round = 0;
  Crew::Round what;
};

/// In a child, until the control socket is closed. Errors: why it has to end.
[[nodiscard]] Result<void> live_in_crew(const CrewPlan& plan, const ChaseSetting& setting,
                                        Board& board, int control);

}  // namespace orchid::bench
