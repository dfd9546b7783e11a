/* Expected: rejected at deploy (module_rejected): the module exports no entry. */
int no_entry_at_all(int value) { return value + 1; }
