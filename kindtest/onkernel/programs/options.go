package programs

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Options say which lives are lived, and where.
type Options struct {
	Source string // chainwalk's source tree
	Cache  string // folder of Debian's packages as they are installed
	Mirror string // of Debian's packages
	// Kubernetes is the folder of Kubernetes' programs and etcd.
	Kubernetes string
	// Programs are the programs that run; all if the list is empty.
	Programs []string
	// Dialects of the tools; both if there are none.
	Dialects []netfilter.Dialect
	// Keep is the folder in which each life leaves its calls and what it printed.
	Keep string
	// Show is how many differences of a life are shown.
	Show int
	Out  io.Writer
}

// names are the programs, those first that nodes have most.
var names = []string{
	"ufw", "fail2ban", "ferm", "shorewall", "shorewall6", "firewalld", "kube-proxy", "docker", "nft-firewall", "firewalld-nftables",
	"kube-proxy-nftables", "docker-nftables", "flannel-nftables",
}

// natives are the programs that write native tables of nftables.
var natives = []string{"nft-firewall", "firewalld-nftables", "kube-proxy-nftables", "docker-nftables", "flannel-nftables"}

// packages of Debian that the lives need: the programs, the tools, and what they ask for when they run.
var packages = []string{
	"conntrack", "dbus", "docker.io", "fail2ban", "ferm", "firewalld", "ipset", "iproute2", "iptables", "kmod", "libpam-systemd", "netbase",
	"nfacct", "nftables", "procps", "python3-systemd", "shorewall", "shorewall6", "ufw",
}

//go:embed lives/*.sh stage.sh
var scripts embed.FS

// NeedsKubernetes says whether the life of a program needs programs of Kubernetes.
func NeedsKubernetes(program string) bool { return strings.HasPrefix(program, "kube-proxy") }

// scriptOf is the life of a program.
func scriptOf(program string) (string, error) {
	if !slices.Contains(names, program) {
		return "", fmt.Errorf("there is no life of %q; there are %s", program, strings.Join(names, ", "))
	}
	var script strings.Builder
	parts := []string{"prelude", program}
	if NeedsKubernetes(program) {
		parts = []string{"prelude", "kubernetes", program}
	}
	for _, name := range parts {
		text, err := scripts.ReadFile("lives/" + name + ".sh")
		if err != nil {
			return "", err
		}
		script.Write(text)
	}
	return script.String(), nil
}

// valid refuses unknown programs, and fills in defaults.
func (o *Options) valid() error {
	if len(o.Programs) == 0 {
		o.Programs = names
	}
	if len(o.Dialects) == 0 {
		o.Dialects = []netfilter.Dialect{netfilter.Legacy, netfilter.NFT}
	}
	for _, program := range o.Programs {
		if _, err := scriptOf(program); err != nil {
			return err
		}
	}
	return nil
}
