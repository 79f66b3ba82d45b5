package peers

import (
	"path/filepath"
	"runtime/debug"
)

// Version is that of kube-proxy as it is linked, such as v1.37.2, or the folder of the checkout that it is linked from; empty if the
// program does not know its modules.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		switch {
		case m.Path != "k8s.io/kubernetes":
		case m.Replace != nil && filepath.IsAbs(m.Replace.Path):
			return "of " + m.Replace.Path
		default:
			return m.Version
		}
	}
	return ""
}
