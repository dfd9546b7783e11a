// other_release.h: comes before all of the plugin's source, and makes it one of another release of
// Slurm: the number in its symbol `plugin_version` is all that Slurm looks at.
#pragma once
#include <slurm/slurm_version.h>
#undef SLURM_VERSION_NUMBER
#define SLURM_VERSION_NUMBER SLURM_VERSION_NUM(21, 8, 0)
