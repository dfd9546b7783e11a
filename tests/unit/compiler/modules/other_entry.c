// Another entry than freestanding.c has.
int orchid_entry_other(void* call, const void* input, unsigned long long size) {
  return call != input && size > 3;
}
