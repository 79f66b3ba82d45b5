package anonymise

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// Renamer gives other names and addresses, the same for the same.
type Renamer struct {
	disguise   disguise
	collecting bool                         // nothing is renamed yet
	names      map[string]map[string]string // new names by kind and old name
	addresses  map[netip.Addr]bool          // those that were met
	devices    map[string]bool
	chains     map[string]string // those with a hash of a service port or an endpoint in their names
	endpoints  endpoints
}

// New is a renamer for all that visit gives it. It is called once, with a renamer that changes nothing, and must not keep what it gets.
//
// New names are numbered in the order of the old ones, so that what is sorted by name stays in its order.
func New(key Key, visit func(*Renamer) error) (*Renamer, error) {
	r := &Renamer{
		disguise: disguise{key: key}, collecting: true, names: map[string]map[string]string{},
		addresses: map[netip.Addr]bool{}, devices: map[string]bool{}, chains: map[string]string{}, endpoints: endpoints{},
	}
	if err := visit(r); err != nil {
		return nil, err
	}
	for kind, names := range r.names {
		sorted := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
			return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
		})
		width := len(fmt.Sprint(len(sorted)))
		for i, old := range sorted {
			names[old] = fmt.Sprintf("%s%0*d", kind, width, i+1)
		}
	}
	r.collecting, r.chains = false, map[string]string{}
	r.hide()
	return r, nil
}

// maxTurns ends the search for a disguise that hides all. In small clusters, one in a few does.
const maxTurns = 100

// hide finds a disguise in which no address and no device comes out as one that the cluster has. In a large cluster there may be none:
// then some new addresses are also old ones, of other hosts. They tell nothing to anybody without the key.
func (r *Renamer) hide() {
	for r.disguise.turn < maxTurns {
		r.disguise.next()
		if r.hidden() {
			return
		}
	}
}

func (r *Renamer) hidden() bool {
	for a := range r.addresses {
		if !r.disguise.alone(a) && r.addresses[r.disguise.address(a)] {
			return false
		}
	}
	for name := range r.devices {
		if other := r.disguise.device(name); other != name && r.devices[other] {
			return false
		}
	}
	return true
}

// Name is the new name of something of a kind; what has none has none afterwards. A name that was not met before is an empty one.
func (r *Renamer) Name(kind, old string) string {
	if old == "" {
		return ""
	}
	if r.collecting {
		if r.names[kind] == nil {
			r.names[kind] = map[string]string{}
		}
		r.names[kind][old] = ""
		return kind + "0"
	}
	return r.names[kind][old]
}

// Namep is Name for a field that may be missing.
func (r *Renamer) Namep(kind string, old *string) *string {
	if old == nil {
		return nil
	}
	name := r.Name(kind, *old)
	return &name
}

// The namespaces that every cluster has.
var namespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// Namespace is another one. Those that every cluster has stay.
func (r *Renamer) Namespace(old string) string {
	if slices.Contains(namespaces, old) {
		return old
	}
	return r.Name("namespace", old)
}

// ServiceName is the new name of a service.
func (r *Renamer) ServiceName(namespace, name string) string {
	if name == "" {
		return ""
	}
	return r.Name("service", namespace+"/"+name)
}

// Address is another address. One that is not valid stays so.
func (r *Renamer) Address(a netip.Addr) netip.Addr {
	if !a.IsValid() {
		return a
	}
	if r.collecting {
		r.addresses[a] = true
		return a
	}
	return r.disguise.address(a)
}

// Addresses are others in the place of some; nil for none.
func (r *Renamer) Addresses(old []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range old {
		out = append(out, r.Address(a))
	}
	return out
}

// Prefix is the other value of a prefix: that of its addresses.
func (r *Renamer) Prefix(p netip.Prefix) netip.Prefix {
	if !p.IsValid() {
		return p
	}
	return netip.PrefixFrom(r.Address(p.Masked().Addr()), p.Bits()).Masked()
}

// Text is another address, or prefix, in the place of one, as objects have them. What is neither gets a name.
func (r *Renamer) Text(old string) string {
	if a, ok := parse(old); ok {
		return r.Address(a).String()
	}
	if p, err := netip.ParsePrefix(strings.TrimSpace(old)); err == nil {
		return r.Prefix(p).String()
	}
	return r.Name("unknown", old)
}

// Texts are others in the place of some; nil stays nil.
func (r *Renamer) Texts(old []string) []string {
	if old == nil {
		return nil
	}
	out := make([]string, len(old))
	for i, text := range old {
		out[i] = r.Text(text)
	}
	return out
}

// parse reads an address as kube-proxy does, which takes leading zeros.
func parse(text string) (netip.Addr, bool) {
	ip := netutils.ParseIPSloppy(strings.TrimSpace(text))
	a, ok := netip.AddrFromSlice(ip)
	return a.Unmap(), ok
}

// keepRange has a range of addresses stay one.
func (r *Renamer) keepRange(first, last netip.Addr) {
	if r.collecting {
		r.disguise.keepRange(first, last)
	}
}

// Device is the new name of a network device.
func (r *Renamer) Device(old string) string {
	if r.collecting {
		r.devices[old] = true
		return old
	}
	return r.disguise.device(old)
}

// mac is another hardware address, of those that anybody may give to a device. That of nobody, and those of groups, stay.
func (r *Renamer) mac(old string) string {
	a, err := net.ParseMAC(old)
	if err != nil {
		return "" // only an empty one is none
	}
	if a[0]&1 == 1 || !slices.ContainsFunc(a, func(b byte) bool { return b != 0 }) {
		return a.String()
	}
	sum := r.disguise.key.chance("mac", a)
	copy(a, sum[:])
	a[0] = a[0]&^1 | 2
	return a.String()
}

// when is a time moved by a span that the key decides, the same for all times.
func (r *Renamer) when(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(r.disguise.key.shift())
}

// ServicePort is a port of a service by its new names.
func (r *Renamer) ServicePort(p provenance.ServicePort) provenance.ServicePort {
	service, port, _ := strings.Cut(string(p), ":")
	namespace, name, _ := strings.Cut(service, "/")
	return provenance.PortOf(r.Namespace(namespace), r.ServiceName(namespace, name), r.Name("port", port))
}

// Policy is a NetworkPolicy by its new names. Without its namespace it is the first one of its name.
func (r *Renamer) Policy(namespace, name string) (otherNamespace, otherName string) {
	if namespace == "" {
		for _, known := range slices.Sorted(maps.Keys(r.names["policy"])) {
			if strings.HasSuffix(known, "/"+name) {
				return "", r.Name("policy", known)
			}
		}
	}
	return r.Namespace(namespace), r.Name("policy", namespace+"/"+name)
}

// Pod is a pod by its new names.
func (r *Renamer) Pod(namespace, name string) (otherNamespace, otherName string) {
	return r.Namespace(namespace), r.Name("pod", namespace+"/"+name)
}

// Chain is the new name of a chain. It shows who wrote the chain, as the old one does.
func (r *Renamer) Chain(old string) string {
	if provenance.IsEverywhere(old) {
		return old
	}
	if other, ok := r.chains[old]; ok {
		return other
	}
	stem := provenance.Stem(old)
	switch {
	case provenance.EndsInHash(stem):
		return stem + r.disguise.key.hash("chain", old)
	case stem != "":
		return r.Name(stem, old)
	}
	return r.Name("CHAIN", old)
}
