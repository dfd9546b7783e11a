// Without headers, for any target.
int orchid_entry_tiny(void* call, const void* input, unsigned long long size) {
  return call != input && size > 3;
}
