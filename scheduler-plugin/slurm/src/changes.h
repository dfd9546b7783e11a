// changes.h: what a new inventory has that the last one had not.
#pragma once
#include "inventory.h"
#include "protocol/source_messages.h"

namespace orchid::slurm {

/// An update with all of `inventory`. Sequence and time are left to the caller, here and below.
[[nodiscard]] SourceUpdate everything_of(const Inventory& inventory);
/// An update that makes `after` of `before`.
[[nodiscard]] SourceUpdate changes_between(const Inventory& before, const Inventory& after);
[[nodiscard]] bool is_empty(const SourceUpdate& update);

}  // namespace orchid::slurm
