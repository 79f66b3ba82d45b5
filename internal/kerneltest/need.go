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
	switch asked := os.Getenv(variable); asked {
	case "":
		tb.Skipf("set %s=1 to compare with this machine's kernel and tools, as root on Linux", variable)
	case "1":
		if lacks := namespace.Lacks(tools...); len(lacks) > 0 {
			tb.Fatalf("%s=1 forbids to skip, and this machine is not ready: %s", variable, strings.Join(lacks, "; "))
		}
	default:
		tb.Fatalf("%s is %q: want 1 to use the real kernel, or nothing to skip its tests", variable, asked)
	}
}
