package namespace

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Lacks says what this machine lacks for namespaces of the kernel and these tools in them; nothing if it is ready.
func Lacks(tools ...string) []string {
	return missing(runtime.GOOS, os.Geteuid(), exec.LookPath, tools)
}

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

// packages are Debian's packages of tools, where they do not have the tool's name.
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
