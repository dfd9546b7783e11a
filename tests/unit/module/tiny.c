// A module without headers, so that it compiles for any target.
int orchid_entry_tiny(void* call, const void* input, unsigned long size) {
  return call != input && size > 3;
}
