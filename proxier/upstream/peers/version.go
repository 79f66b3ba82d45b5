package peers

import "runtime/debug"

// Version is that of kube-proxy as it is linked, such as v1.37.2; empty if the program does not know its modules.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "k8s.io/kubernetes" {
			return m.Version
		}
	}
	return ""
}
