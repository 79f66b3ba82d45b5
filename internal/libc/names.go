package libc

import (
	"bytes"
	"io/fs"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// Names looks up what files of /etc name: hosts, networks, users and groups. It reads each file once, when it is first asked for. A nil
// one knows no name, as where there are no files. Those of a folder are for one goroutine.
type Names struct {
	etc   fs.FS
	files map[string][][]string
}

// NewNames returns names of the files hosts, networks, passwd and group of a folder; nil: the names that every Linux has, localhost and
// root.
func NewNames(etc fs.FS) *Names {
	if etc != nil {
		return &Names{etc: etc, files: map[string][][]string{}}
	}
	return &usual
}

// usual are the names that every Linux has. All files are known, so that looking names up writes nothing, and any goroutine may do it.
var usual = Names{files: map[string][][]string{
	"hosts": {{"127.0.0.1", "localhost"}, {"::1", "localhost"}}, "networks": nil,
	"passwd": {{"root", "x", "0"}}, "group": {{"root", "x", "0"}},
}}

// entries are the lines of a file cut into fields, without comments. A file that cannot be read is empty.
func (n *Names) entries(file string, fields func(line string) []string) [][]string {
	if n == nil {
		return nil
	}
	known, ok := n.files[file]
	if !ok {
		text, _ := fs.ReadFile(n.etc, file)
		for line := range bytes.Lines(text) {
			line, _, _ = bytes.Cut(line, []byte("#"))
			if entry := fields(string(line)); len(entry) > 1 {
				known = append(known, entry)
			}
		}
		n.files[file] = known
	}
	return known
}

// hosts are the lines of /etc/hosts: an address, the name, and other names.
func (n *Names) hosts() [][]string { return n.entries("hosts", strings.Fields) }

// networks are the lines of /etc/networks: the name, an address, and other names.
func (n *Names) networks() [][]string { return n.entries("networks", strings.Fields) }

// accounts are the lines of /etc/passwd or /etc/group: the name, a password and a number come first.
func (n *Names) accounts(file string) [][]string {
	return n.entries(file, func(line string) []string {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) > 2 {
			return fields
		}
		return nil
	})
}

// hasName says whether one of the words is a name of a host or a network, for which small and capital letters are the same.
func hasName(words []string, name string) bool {
	for _, w := range words {
		if string(Lower([]byte(w))) == string(Lower([]byte(name))) {
			return true
		}
	}
	return false
}

// host are the addresses of so many bits that a host of that name has.
func (n *Names) host(name string, bits int) (addrs []netip.Addr) {
	for _, entry := range n.hosts() {
		if a, ok := hostAddr(entry[0], bits); ok && hasName(entry[1:], name) {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// hostAddr reads an address in /etc/hosts. Of those of IPv6 IPv4 has the ones that hold one of its own, and its own loopback address.
func hostAddr(text string, bits int) (netip.Addr, bool) {
	if a, ok := InetPton([]byte(text), bits); ok {
		return a, true
	}
	a, ok := InetPton([]byte(text), 128)
	switch {
	case !ok || bits != 32:
		return netip.Addr{}, false
	case a.IsLoopback():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	return a.Unmap(), a.Is4In6()
}

// HostName is the name of the host with an address (getnameinfo).
func (n *Names) HostName(a netip.Addr) (string, bool) {
	for _, entry := range n.hosts() {
		if b, ok := hostAddr(entry[0], a.BitLen()); ok && a == b {
			return entry[1], true
		}
	}
	return "", false
}

// Network is the address of the network of that name (getnetbyname).
func (n *Names) Network(name string) (netip.Addr, bool) {
	for _, entry := range n.networks() {
		if a, ok := networkAddr(entry[1]); ok && (hasName(entry[:1], name) || hasName(entry[2:], name)) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// NetworkName is the name of the network with an address of IPv4 (getnetbyaddr).
func (n *Names) NetworkName(a netip.Addr) (string, bool) {
	for _, entry := range n.networks() {
		if b, ok := networkAddr(entry[1]); ok && a == b {
			return entry[0], true
		}
	}
	return "", false
}

// networkAddr reads an address in /etc/networks, of which numbers at the end may be missing.
func networkAddr(text string) (netip.Addr, bool) {
	var b [4]byte
	words := strings.Split(text, ".")
	if len(words) > len(b) {
		return netip.Addr{}, false
	}
	for i, w := range words {
		value, ok := WholeNumber([]byte(w), math.MaxUint8)
		if !ok {
			return netip.Addr{}, false
		}
		b[i] = byte(value)
	}
	return netip.AddrFrom4(b), true
}

// User is the number of a user (getpwnam).
func (n *Names) User(name string) (uint32, bool) { return n.account("passwd", name) }

// Group is the number of a group (getgrnam).
func (n *Names) Group(name string) (uint32, bool) { return n.account("group", name) }

// UserName is the name of a user (getpwuid).
func (n *Names) UserName(number uint32) (string, bool) { return n.accountName("passwd", number) }

// GroupName is the name of a group (getgrgid).
func (n *Names) GroupName(number uint32) (string, bool) { return n.accountName("group", number) }

func (n *Names) account(file, name string) (uint32, bool) {
	for _, entry := range n.accounts(file) {
		if number, err := strconv.ParseUint(entry[2], 10, 32); err == nil && entry[0] == name {
			return uint32(number), true
		}
	}
	return 0, false
}

func (n *Names) accountName(file string, number uint32) (string, bool) {
	for _, entry := range n.accounts(file) {
		if found, err := strconv.ParseUint(entry[2], 10, 32); err == nil && uint32(found) == number {
			return entry[0], true
		}
	}
	return "", false
}
