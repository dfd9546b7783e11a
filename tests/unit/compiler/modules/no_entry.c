int nothing_to_call(int a) { return a + 1; }
