package cases

import (
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Case is one run of both proxiers.
type Case struct {
	// Differs names the explanation of the difference that the case shows; empty for a case without one.
	Differs string `json:"differs,omitempty"`
	// Why says in words what is different.
	Why string `json:"why,omitempty"`

	Settings Settings `json:"settings"`
	Steps    []Step   `json:"steps"`
}

// Mode is the language of rules that both proxiers write.
type Mode string

// NFTables is mode nftables. The zero value is mode iptables.
const NFTables Mode = "nftables"

// ModeNamed is the mode of a name: "iptables" or "nftables".
func ModeNamed(name string) (Mode, error) {
	switch name {
	case "iptables":
		return "", nil
	case string(NFTables):
		return NFTables, nil
	}
	return "", fmt.Errorf("there is no mode %q: want iptables or nftables", name)
}

// Settings are the configuration of both proxiers and of the node below them.
type Settings struct {
	// Mode is that of both proxiers: iptables if it is empty, or NFTables.
	Mode Mode `json:"mode,omitempty"`
	// Real has mode nftables run nft on the real kernel too, in namespaces of their own, and compares each call. It needs root on Linux.
	Real bool `json:"real,omitempty"`
	// Dialect is that of the tools: "legacy" or "nft".
	Dialect string `json:"dialect"`
	// Detect is how local traffic is recognised: "none", "cidr", "bridge" or "prefix".
	Detect             string   `json:"detect"`
	MasqueradeAll      bool     `json:"masqueradeAll,omitempty"`
	MasqueradeBit      int      `json:"masqueradeBit"`
	LocalhostNodePorts bool     `json:"localhostNodePorts,omitempty"`
	NoRandomFully      bool     `json:"noRandomFully,omitempty"`
	NodeAddressUnknown bool     `json:"nodeAddressUnknown,omitempty"`
	NodePortAddresses  []string `json:"nodePortAddresses,omitempty"`
	// TCPLiberal is nf_conntrack_tcp_be_liberal; nil where the kernel does not say.
	TCPLiberal *int `json:"tcpLiberal,omitempty"`
	// Accounting is "present", "absent" (no nfacct at all) or "failing".
	Accounting string `json:"accounting"`
	// NoHourlyFullSync is this project's setting for large clusters. It counts where kube-proxy has that behaviour, since v1.36.
	NoHourlyFullSync bool `json:"noHourlyFullSync,omitempty"`
}

// Step is one event. Exactly one field is set.
type Step struct {
	// Service is made, or changed if it is there.
	Service *v1.Service `json:"service,omitempty"`
	// Slice is made, or changed if it is there.
	Slice *discovery.EndpointSlice `json:"slice,omitempty"`
	// DeleteService and DeleteSlice are "namespace/name"; what is not there is passed over.
	DeleteService string `json:"deleteService,omitempty"`
	DeleteSlice   string `json:"deleteSlice,omitempty"`
	// Zone is the node's zone from now on; "" takes the label away.
	Zone *string `json:"zone,omitempty"`
	// Do is something else that happens.
	Do Action `json:"do,omitempty"`
}

// Action is an event that is not about an object.
type Action string

// The actions.
const (
	// Sync syncs both proxiers and compares them. The first one tells them that all objects were delivered.
	Sync Action = "sync"
	// Flush empties the tables of the kernel, which makes both proxiers sync in full.
	Flush Action = "flush"
	// Fail makes the restores of the next sync fail.
	Fail Action = "fail"
	// Hold makes somebody else's rule jump to a chain of a service, so that the chain cannot be deleted; Release takes the rule away.
	Hold    Action = "hold"
	Release Action = "release"
	// Hour lets so much time pass that everything regular is due.
	Hour Action = "hour"
)

// Marshal prints the case as YAML, without fields that the types of Kubernetes print although they are empty.
func (c *Case) Marshal() ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	return yaml.Marshal(pruned(tree))
}

// pruned drops fields that are null or an object without fields.
func pruned(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			value = pruned(value)
			if fields, ok := value.(map[string]any); value == nil || ok && len(fields) == 0 {
				delete(tree, name)
			}
		}
	case []any:
		for i := range tree {
			tree[i] = pruned(tree[i])
		}
	}
	return tree
}

// Read reads a case from a file.
func Read(path string) (*Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ReadIn reads a case from a file and has it run in a mode, whichever it names. In mode nftables its settings of iptables do not count.
func ReadIn(mode Mode, path string) (*Case, error) {
	c, err := Read(path)
	if err == nil {
		c.Settings.in(mode)
	}
	return c, err
}

func parse(text []byte) (*Case, error) {
	c := &Case{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *Case) check() error {
	for i := range c.Steps {
		if n := c.Steps[i].fields(); n != 1 {
			return fmt.Errorf("step %d has %d events: want one", i+1, n)
		}
	}
	return nil
}

func (s *Step) fields() int {
	n := 0
	for _, set := range []bool{s.Service != nil, s.Slice != nil, s.DeleteService != "", s.DeleteSlice != "", s.Zone != nil, s.Do != ""} {
		if set {
			n++
		}
	}
	return n
}

// Key splits "namespace/name".
func Key(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
