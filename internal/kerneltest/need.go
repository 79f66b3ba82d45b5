package kerneltest

import (
	"os"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/internal/namespace"
)

// variable is the environment variable that allows a test to use the kernel.
const variable = "CHAINWALK_KERNEL"

// Need skips a test that was not asked to use the kernel. It fails one that was asked to and lacks root or one of the tools.
func Need(tb testing.TB, tools ...string) {
	tb.Helper()
	if !Asked(tb, variable, "compare with this machine's kernel and tools, as root on Linux") {
		return
	}
	if lacks := namespace.Lacks(tools...); len(lacks) > 0 {
		tb.Fatalf("%s=1 forbids to skip, and this machine is not ready: %s", variable, strings.Join(lacks, "; "))
	}
}

// Asked says whether a test's environment variable is 1. It skips the test where the variable is empty, and fails it where
// it has another value.
func Asked(tb testing.TB, variable, why string) bool {
	tb.Helper()
	switch asked := os.Getenv(variable); asked {
	case "":
		tb.Skipf("set %s=1 to %s", variable, why)
	case "1":
		return true
	default:
		tb.Fatalf("%s is %q: want 1 to %s, or nothing to skip the test", variable, asked, why)
	}
	return false
}
