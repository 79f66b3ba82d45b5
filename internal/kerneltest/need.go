package kerneltest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
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
		if missing := missing(runtime.GOOS, os.Geteuid(), exec.LookPath, tools); len(missing) > 0 {
			tb.Fatalf("%s=1 forbids to skip, and this machine is not ready: %s", variable, strings.Join(missing, "; "))
		}
	default:
		tb.Fatalf("%s is %q: want 1 to use the real kernel, or nothing to skip its tests", variable, asked)
	}
}

// missing says what a test lacks.
func missing(system string, uid int, lookPath func(string) (string, error), tools []string) (lacks []string) {
	if system != "linux" {
		lacks = append(lacks, "the system is "+system+" and not Linux")
	}
	if uid != 0 {
		lacks = append(lacks, "not root")
	}
	for _, tool := range tools {
		if _, err := lookPath(tool); err != nil {
			lacks = append(lacks, fmt.Sprintf("no %s (install %s)", tool, packageOf(tool)))
		}
	}
	return lacks
}

// packages are those of Debian that a tool comes with, where they have not the tool's name.
var packages = map[string]string{"ip": "iproute2", "bridge": "iproute2", "sysctl": "procps", "nft": "nftables"}

func packageOf(tool string) string {
	if name, ok := packages[tool]; ok {
		return name
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		if strings.HasPrefix(tool, family) {
			return "iptables"
		}
	}
	return tool
}
