package dumps

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed kind-v1.34 kube-proxy
var recorded embed.FS // what embeds must be a variable of the package

// Kind is the cluster kind-v1.34: objects.yaml, kind-config.yaml, and a folder
// TOOLS/NODE for each variant of the iptables tools, legacy and nft, and each node.
func Kind() fs.FS {
	return folder("kind-v1.34")
}

// KubeProxy is what kube-proxy of two versions wrote on one node of that cluster: MINOR/MODE.rules, such as v1.37/nftables.rules.
func KubeProxy() fs.FS { return folder("kube-proxy") }

func folder(name string) fs.FS {
	sub, err := fs.Sub(recorded, name)
	if err != nil {
		panic(fmt.Sprintf("the name of a folder that is embedded: %v", err))
	}
	return sub
}
