// commands/commands.h: the commands of `orchid`, one file each. Each function declares a command's
// arguments and what runs.
#pragma once
#include "terminal/shell.h"

namespace orchid::cli {

void add_up(CLI::App& app, Shell& shell);
void add_build(CLI::App& app, Shell& shell);
void add_inspect(CLI::App& app, Shell& shell);
void add_deploy(CLI::App& app, Shell& shell);
void add_list(CLI::App& app, Shell& shell);
void add_describe(CLI::App& app, Shell& shell);
void add_delete(CLI::App& app, Shell& shell);
void add_invoke(CLI::App& app, Shell& shell);
void add_status(CLI::App& app, Shell& shell);
void add_result(CLI::App& app, Shell& shell);
void add_wait(CLI::App& app, Shell& shell);
void add_cancel(CLI::App& app, Shell& shell);
void add_logs(CLI::App& app, Shell& shell);
void add_data(CLI::App& app, Shell& shell);
void add_hosts(CLI::App& app, Shell& shell);
void add_explain(CLI::App& app, Shell& shell);
void add_leases(CLI::App& app, Shell& shell);
void add_memory(CLI::App& app, Shell& shell);
void add_pilot(CLI::App& app, Shell& shell);
void add_pilot_keep(CLI::App& pilots, Shell& shell);   // one of its own
void add_pilot_guard(CLI::App& pilots, Shell& shell);  // the same
void add_share(CLI::App& app, Shell& shell);
void add_flow(CLI::App& app, Shell& shell);
void add_flow_plan(CLI::App& flows, Shell& shell);  // of its own, as the next ones
void add_flow_run(CLI::App& flows, Shell& shell);
void add_flow_submit(CLI::App& flows, Shell& shell);
void add_flow_submitted(CLI::App& flows, Shell& shell);  // several
void add_share_keep(CLI::App& shares, Shell& shell);     // one of its own
void add_token(CLI::App& app, Shell& shell);
void add_dashboard(CLI::App& app, Shell& shell);
void add_doctor(CLI::App& app, Shell& shell);
void add_completion(CLI::App& app, Shell& shell);
void add_help(CLI::App& app, Shell& shell);

inline void add_commands(CLI::App& app, Shell& shell) {
  for (auto* add :
       {add_up,         add_build,  add_inspect, add_deploy,  add_list,      add_describe,
        add_delete,     add_invoke, add_status,  add_result,  add_wait,      add_cancel,
        add_logs,       add_data,   add_hosts,   add_explain, add_leases,    add_memory,
        add_flow,       add_pilot,  add_share,   add_token,   add_dashboard, add_doctor,
        add_completion, add_help})
    add(app, shell);
}

}  // namespace orchid::cli
