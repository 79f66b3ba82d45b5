package nft

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// found is what a table holds whose clients stick to endpoints, which has to stay. A table without such clients is made anew, which costs
// the kernel less than to fill it again.
type found struct {
	sets   map[string]nftables.Set
	chains map[string]nftables.Chain
}

// localhostRejectPrefix begins the names of what kube-proxy v1.37 has for node ports at loopback addresses, if its gate
// KubeProxyNFTablesLocalhostNodePorts is on.
const localhostRejectPrefix = "localhost-nodeport-reject-"

// found returns what there is to keep, or nil if there is nothing, or if that is not known.
func (w *Writer) found() *found {
	sets, err := w.config.Tools.Sets(table)
	if errors.Is(err, nftables.ErrNotFound) {
		return nil
	}
	if err != nil {
		return w.notFound(err)
	}
	if !anyKey(sets, isAffinitySet) {
		return nil
	}
	chains, err := w.config.Tools.Chains(table)
	if err != nil {
		return w.notFound(err)
	}
	if anyKey(chains, func(name string) bool { return strings.HasPrefix(name, localhostRejectPrefix) }) {
		return nil
	}
	return &found{sets, chains}
}

func anyKey[V any](m map[string]V, is func(string) bool) bool {
	for name := range m {
		if is(name) {
			return true
		}
	}
	return false
}

func (w *Writer) notFound(err error) *found {
	w.config.Marks.Hit(mark.SyncSaveFailed)
	w.config.Logger.Error(err, "The table is made anew, so clients do not stick to their endpoints", "family", w.config.Tools.Family())
	return nil
}

// foreignBaseChains returns the chains at hooks that another version of kube-proxy has put elsewhere, which cannot be changed
// (https://issue.k8s.io/123162), or that this one has no use for. kube-proxy names them after their type.
func (f *found) foreignBaseChains() []string {
	wanted := map[string]nftables.Chain{}
	for _, chain := range baseChains {
		wanted[chain.name] = nftables.Chain{Type: chain.kind, Hook: chain.hook, Priority: chain.priority}
	}
	var foreign []string
	for _, name := range slices.Sorted(maps.Keys(f.chains)) {
		chain := f.chains[name]
		want, known := wanted[name]
		if known && chain != want || !known && chain.Type != "" && strings.HasPrefix(name, chain.Type+"-") {
			foreign = append(foreign, name)
		}
	}
	return foreign
}
