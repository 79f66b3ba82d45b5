package dumps

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed kind-v1.34
var recorded embed.FS // what embeds must be a variable of the package

// Kind is the cluster kind-v1.34: objects.yaml, kind-config.yaml, and a folder
// TOOLS/NODE for each variant of the iptables tools, legacy and nft, and each node.
func Kind() fs.FS {
	cluster, err := fs.Sub(recorded, "kind-v1.34")
	if err != nil {
		panic(fmt.Sprintf("the name of a folder that is embedded: %v", err))
	}
	return cluster
}
