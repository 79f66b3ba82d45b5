package names

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Packet is a packet in which objects were named in the place of addresses.
type Packet struct {
	// Text is the packet in the PACKET syntax, with addresses.
	Text string
	// Source is the object that is named as the source; nil if an address was written.
	Source *Source
	swaps  []swap
}

// Source is the pod or node that sends a packet.
type Source struct {
	// name is as it was written: "pod/shop/client".
	name string
	// Address is the one that the packet has.
	Address netip.Addr
	// Node is the node that it is or runs on; empty if that is not known.
	Node string
	// Host says that it sends from the node's own network.
	Host bool
}

// swap is a word that was replaced.
type swap struct {
	was, is string
	at      int // the place of the new word in Text, in bytes
}

// word is a word of a packet and its place, in bytes.
type word struct {
	text string
	at   int
}

func wordsOf(text string) []word {
	var out []word
	at := 0
	for _, field := range strings.Fields(text) {
		at += strings.Index(text[at:], field)
		out = append(out, word{field, at})
		at += len(field)
	}
	return out
}

// IsNamed reports whether a packet names objects in the place of addresses: svc/NAMESPACE/NAME[:PORT], pod/NAMESPACE/NAME[:PORT] or
// node/NAME[:PORT].
func IsNamed(packet string) bool {
	words := strings.Fields(packet)
	for i, word := range words {
		if word == ">" && (i > 0 && isName(words[i-1]) || i+1 < len(words) && isName(words[i+1])) {
			return true
		}
	}
	return false
}

func isName(word string) bool {
	kind, _, ok := strings.Cut(word, "/")
	return ok && slices.Contains([]string{"svc", "service", "pod", "node"}, kind)
}

// Packet puts addresses in the place of the names in a packet. Both ends get one of the same family: that of the protocol or of the end
// that is an address, otherwise the first one that both have, in the order of the destination. Errors are *inet.SyntaxError, and
// list what there is.
func (b *Book) Packet(text string) (*Packet, error) {
	p := &Packet{}
	words, written := wordsOf(text), wordsOf(text)
	proto := ""
	for i := range words {
		if i == 0 || words[i-1].text == "{" {
			proto = words[i].text
		}
		if words[i].text != ">" || i == 0 || i+1 == len(words) {
			continue
		}
		source, at, err := b.ends(proto, &words[i-1], &words[i+1])
		if err != nil {
			return nil, &inet.SyntaxError{Column: len([]rune(text[:at.at])) + 1, Token: at.text, Msg: err.Error()}
		}
		if i == 2 { // not one of a packet in braces
			p.Source = source
		}
	}
	end := 0
	for i := range words {
		if words[i].text == written[i].text {
			continue
		}
		p.Text += text[end:words[i].at]
		p.swaps = append(p.swaps, swap{written[i].text, words[i].text, len(p.Text)})
		p.Text += words[i].text
		end = words[i].at + len(written[i].text)
	}
	p.Text += text[end:]
	return p, nil
}

// ends puts addresses in the place of both ends of a packet, and returns the source if it is named. An error comes with the word at fault.
func (b *Book) ends(proto string, src, dst *word) (*Source, *word, error) {
	if !isName(src.text) && !isName(dst.text) {
		return nil, nil, nil
	}
	source, err := b.target(proto, src.text, false)
	if err != nil {
		return nil, src, err
	}
	target, err := b.target(proto, dst.text, true)
	if err != nil {
		return nil, dst, err
	}
	v6, has := family(proto, src.text, dst.text, source, target)
	switch {
	case !has && target != nil && !target.address(v6).IsValid():
		return nil, dst, target.lacks(v6)
	case !has:
		return nil, src, source.lacks(v6)
	}
	if target != nil {
		dst.text = target.text(v6)
	}
	if source == nil {
		return nil, nil, nil
	}
	named := &Source{name: src.text, Address: source.address(v6), Node: source.node, Host: source.host}
	src.text = source.text(v6)
	return named, nil, nil
}

// Error turns an error about Text into one about the packet as it was written.
func (p *Packet) Error(err error) error {
	var syntax *inet.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	out := *syntax
	at := len(string([]rune(p.Text)[:min(syntax.Column-1, len([]rune(p.Text)))]))
	for _, s := range p.swaps {
		switch {
		case s.at < at:
			out.Column += len([]rune(s.was)) - len([]rune(s.is))
		case s.at == at && syntax.Token == s.is:
			out.Token = s.was
			out.Msg = strings.ReplaceAll(strings.ReplaceAll(out.Msg, "["+s.is+"]", s.was), s.is, s.was)
		}
	}
	return &out
}

// target is what a name stands for.
type target struct {
	word      string
	addresses []netip.Addr
	port      string // empty: none
	node      string
	host      bool
}

func (t *target) address(v6 bool) netip.Addr {
	for _, a := range t.addresses {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

func (t *target) text(v6 bool) string {
	a := t.address(v6)
	switch {
	case t.port == "":
		return a.String()
	case v6:
		return "[" + a.String() + "]:" + t.port
	}
	return a.String() + ":" + t.port
}

// family chooses the family of a packet, and says whether both ends have an address of it.
func family(proto, src, dst string, source, target *target) (v6, ok bool) {
	has := func(v6 bool) bool {
		return (source == nil || source.address(v6).IsValid()) && (target == nil || target.address(v6).IsValid())
	}
	fixed, v6 := fixedFamily(proto, src, dst, source == nil, target == nil)
	if fixed {
		return v6, has(v6)
	}
	for _, a := range target.addresses {
		if has(a.Is6()) {
			return a.Is6(), true
		}
	}
	return target.addresses[0].Is6(), false
}

// lacks says that a name has no address of a family.
func (t *target) lacks(v6 bool) error {
	word := map[bool]string{false: "IPv4", true: "IPv6"}[v6]
	return fmt.Errorf("%s has no %s address: it has %s", t.word, word, inWords(t.addresses))
}

// fixedFamily is the one that the protocol or a written address demands.
func fixedFamily(proto, src, dst string, srcWritten, dstWritten bool) (fixed, v6 bool) {
	switch proto {
	case inet.ICMP.String():
		return true, false
	case inet.ICMPv6.String():
		return true, true
	}
	if srcWritten {
		return true, strings.Count(src, ":") > 1
	}
	return dstWritten, strings.Count(dst, ":") > 1
}

func inWords(list []netip.Addr) string {
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

// target finds what a word names; nil if it is no name.
func (b *Book) target(proto, word string, called bool) (*target, error) {
	if !isName(word) {
		return nil, nil
	}
	kind, rest, _ := strings.Cut(word, "/")
	name, port, _ := strings.Cut(rest, ":")
	t := &target{word: word, port: port}
	switch kind {
	case "node":
		return t, b.findNode(t, name)
	case "pod":
		return t, b.findPod(t, proto, name)
	}
	if !called {
		return t, errors.New("a service sends no packets: write pod/NAMESPACE/NAME:PORT, node/NAME:PORT or an address")
	}
	return t, b.findService(t, proto, name)
}

func (b *Book) findNode(t *target, name string) error {
	var all []string
	for _, node := range b.nodes {
		all = append(all, node.Name)
		if node.Name != name {
			continue
		}
		t.addresses, t.node, t.host = nodeAddresses(node), name, true
		if len(t.addresses) == 0 {
			return fmt.Errorf("node %s has no address (status.addresses)", name)
		}
		return nil
	}
	return fmt.Errorf("no node has that name: the objects have %s", listed(all))
}

// chosen is the place of the object of a name, NAMESPACE/NAME, or NAME where no other has it.
func chosen(kind, name string, all []string) (int, error) {
	if strings.Contains(name, "/") {
		if i := slices.Index(all, name); i >= 0 {
			return i, nil
		}
		namespace, _, _ := strings.Cut(name, "/")
		beside := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, namespace+"/") })
		if len(beside) == 0 {
			beside = all
		}
		return 0, fmt.Errorf("no %s has that name: the objects have %s", kind, listed(beside))
	}
	found := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasSuffix(s, "/"+name) })
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("no %s has that name: the objects have %s", kind, listed(all))
	case 1:
		return slices.Index(all, found[0]), nil
	}
	return 0, fmt.Errorf("several have that name: write the namespace too, one of %s", listed(found))
}

// maxListed is how many names an error lists.
const maxListed = 20

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	names = slices.Sorted(slices.Values(names))
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

func (b *Book) findPod(t *target, proto, name string) error {
	var all []string
	for i := range b.pods {
		all = append(all, b.pods[i].name)
	}
	i, err := chosen("pod", name, all)
	if err != nil {
		return err
	}
	p := &b.pods[i]
	t.addresses, t.node, t.host = p.addresses, p.node, p.host
	if len(t.addresses) == 0 {
		return fmt.Errorf("pod %s has no address (status.podIPs)", p.name)
	}
	if t.port == "" || isNumber(t.port) {
		return nil
	}
	var ports []string
	for _, port := range p.ports {
		if port.Name == t.port && protoOf(port.Protocol).String() == proto {
			t.port = strconv.Itoa(int(port.ContainerPort))
			return nil
		}
		if port.Name != "" {
			ports = append(ports, fmt.Sprintf("%s %d/%s", port.Name, port.ContainerPort, port.Protocol))
		}
	}
	return fmt.Errorf("pod %s has no port %q of %s: it has %s", p.name, t.port, proto, listed(ports))
}

func (b *Book) findService(t *target, proto, name string) error {
	var all []string
	for _, s := range b.services {
		all = append(all, s.Namespace+"/"+s.Name)
	}
	i, err := chosen("service", name, all)
	if err != nil {
		return err
	}
	s := b.services[i]
	switch t.addresses = clusterIPs(s); {
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		return fmt.Errorf("service %s is another name of %s (ExternalName) and has no address", all[i], s.Spec.ExternalName)
	case len(t.addresses) == 0:
		return fmt.Errorf("service %s has no cluster IP: write one of its pods, pod/NAMESPACE/NAME", all[i])
	}
	return servicePortOf(t, proto, s)
}

// servicePortOf finds the port of a service by its name; a number stays, whether or not the service has it, and without one it is the only
// port of the protocol.
func servicePortOf(t *target, proto string, s *corev1.Service) error {
	if isNumber(t.port) || !slices.Contains([]string{"tcp", "udp", "sctp"}, proto) {
		return nil
	}
	var found []*corev1.ServicePort
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if protoOf(p.Protocol).String() == proto && (t.port == "" || p.Name == t.port) {
			found = append(found, p)
		}
	}
	if len(found) == 1 {
		t.port = strconv.Itoa(int(found[0].Port))
		return nil
	}
	name := s.Namespace + "/" + s.Name
	if t.port == "" {
		return fmt.Errorf("write the port behind it: service %s has %s", name, PortsOf(s))
	}
	return fmt.Errorf("service %s has no port %q of %s: it has %s", name, t.port, proto, PortsOf(s))
}

// PortsOf are a service's ports in words: "http 80/TCP, dns 53/UDP".
func PortsOf(s *corev1.Service) string {
	var out []string
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d/%s", p.Name, p.Port, protocol)))
	}
	if len(out) == 0 {
		return "no port"
	}
	return strings.Join(out, ", ")
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
