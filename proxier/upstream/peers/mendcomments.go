package peers

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/proxy"

	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// commentedMaps are the maps of mode nftables whose elements have a comment, the name of a service port, that may outlive the name: their
// values are the same for all service ports.
var commentedMaps = []string{"no-endpoint-services", "no-endpoint-nodeports"}

// commentedElement is an element of them as nft lists it: its key, its comment and its value.
var commentedElement = regexp.MustCompile(`([^\s{,]+(?: \. \S+)+) comment "([^"]*)" : ([^,}\n]+)`)

// mostComment is the limit of nft for a comment.
const mostComment = 128

// mendComments writes elements again that have another comment than kube-proxy would give them now.
func (k *process) mendComments(f *processFamily, family v1.IPFamily) error {
	if !k.native() || !k.mends.has(CommentsFollow) {
		return nil
	}
	names := elementNames(*field[proxy.ServicePortMap](f.proxier, "svcPortMap"))
	programs := unwatched(k.process.Kernel.Exec)
	for _, name := range commentedMaps {
		listed, err := programs.Command(nft, "list", "map", nftables.Word(family), kubenft.Table, name).CombinedOutput()
		if err != nil {
			continue // somebody has deleted it
		}
		for _, e := range commentedElement.FindAllStringSubmatch(string(listed), -1) {
			key, comment, value := e[1], e[2], strings.TrimSpace(e[3])
			now := names[key]
			if len(now) != 1 || len(now[0]) > mostComment || now[0] == comment {
				continue // nobody's any more, or of several services, which is decided by chance
			}
			at := fmt.Sprintf("element %s %s %s", nftables.Word(family), kubenft.Table, name)
			again := programs.Command(nft, "-f", "-")
			again.SetStdin(strings.NewReader(fmt.Sprintf("delete %s { %s }\nadd %s { %s comment %q : %s }\n", at, key, at, key, now[0], value)))
			if out, err := again.CombinedOutput(); err != nil {
				return fmt.Errorf("mend the comment of %s: %w: %s", key, err, out)
			}
		}
	}
	return nil
}

// elementNames are the names of the service ports that each key of the maps stands for.
func elementNames(services proxy.ServicePortMap) map[string][]string {
	out := map[string][]string{}
	for name, port := range services {
		protocol := strings.ToLower(string(port.Protocol()))
		for _, ip := range slices.Concat([]net.IP{port.ClusterIP()}, port.ExternalIPs(), port.LoadBalancerVIPs()) {
			key := fmt.Sprintf("%s . %s . %d", ip, protocol, port.Port())
			out[key] = append(out[key], name.String())
		}
		if port.NodePort() != 0 {
			key := fmt.Sprintf("%s . %d", protocol, port.NodePort())
			out[key] = append(out[key], name.String())
		}
	}
	return out
}
