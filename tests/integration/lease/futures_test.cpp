#include "lease_fixture.h"
