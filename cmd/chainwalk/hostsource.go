package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

// hostOptions say how hosts are read whose packets are looked at all at once.
type hostOptions struct {
	local   []string
	objects []string
	tools   string
	ignored ignored
}

func (o *hostOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.local, "local", nil, "addresses of the node's own, for a text of rules")
	flags.StringArrayVarP(&o.objects, "filename", "f", nil, "file with Kubernetes objects, for names (repeatable, - is stdin)")
	flags.StringVar(&o.tools, "tools", "", "legacy or nft: the only variant of iptables to look at; by default both")
	o.ignored.addFlag(flags)
	completeWords(cmd, "tools", "legacy", "nft")
}

// book has the names of the objects; nil without any.
func (o *hostOptions) book(s streams) (*names.Book, error) {
	if len(o.objects) == 0 {
		return nil, nil
	}
	objects, err := readKnownObjects(s, o.objects, &o.ignored)
	if err != nil {
		return nil, err
	}
	return names.New(objects), nil
}

// books have the names of the objects of two sides, and of those that -f names.
func (o *hostOptions) books(s streams, sides [2][]manifest.Object) (out [2]*names.Book, err error) {
	more, err := readKnownObjects(s, o.objects, &o.ignored)
	if err != nil {
		return out, err
	}
	for i, objects := range sides {
		if all := slices.Concat(objects, more); len(all) > 0 {
			out[i] = names.New(all)
		}
	}
	return out, nil
}

// hostSource is a host that was read: one of a snapshot, or the rules of a text.
type hostSource struct {
	name  string
	saved *snapshot.Saved
	known *packetsim.Host
	// taken is the snapshot; nil of a text, and of objects.
	taken *snapshot.NodeSnapshot
	// input is all of the host as text.
	input certificate.Input
}

// read reads a snapshot, a folder or a text of rules.
func (o *hostOptions) read(s streams, path string) (*hostSource, error) {
	of, err := readPath(s, path)
	if err != nil {
		return nil, err
	}
	local, err := localAddresses(o.local)
	if err != nil {
		return nil, err
	}
	return o.source(s, of, local, "")
}

// readFrom is what a path has: the text of a file, or a folder.
type readFrom struct {
	path, name string
	folder     bool
	text       []byte
}

// readPath reads a file or standard input, and leaves the files of a folder.
func readPath(s streams, path string) (*readFrom, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &readFrom{path: path, name: path, folder: true}, nil
	}
	r, name, err := document.Open(path, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &readFrom{path: path, name: name, text: text}, nil
}

// source makes a new host of what was read. local are the addresses of a host that has only a text of rules. If the rules are of both
// variants of iptables, kube-proxy uses tools; empty: legacy.
func (o *hostOptions) source(s streams, of *readFrom, local []netip.Addr, tools netfilter.Dialect) (*hostSource, error) {
	if _, err := parseTools(o.tools); err != nil {
		return nil, err
	}
	if of.folder {
		taken, err := snapshotOfFiles(s, of.path)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := taken.Write(&text, snapshot.YAML); err != nil {
			return nil, fmt.Errorf("%s: %w", of.path, err)
		}
		return o.ofSnapshot(of.path, taken, text.Bytes(), tools)
	}
	known := snapshot.RulesOptions{Dialect: netfilter.Dialect(o.tools), Local: local}
	saved, err := snapshot.ReadSaved(of.name, bytes.NewReader(of.text), known)
	if errors.Is(err, snapshot.ErrIsSnapshot) {
		taken, err := snapshot.Read(of.name, bytes.NewReader(of.text))
		if err != nil {
			return nil, err
		}
		return o.ofSnapshot(of.path, taken, of.text, tools)
	}
	return &hostSource{name: of.path, saved: saved, input: o.input(of.path, of.text, local)}, err
}

func (o *hostOptions) ofSnapshot(name string, taken *snapshot.NodeSnapshot, text []byte, tools netfilter.Dialect) (*hostSource, error) {
	host, err := snapshot.NewHost(taken, snapshot.HostOptions{Dialect: netfilter.Dialect(o.tools), Netfilter: tools})
	return &hostSource{name: name, known: host, taken: taken, input: o.input(name, text, nil)}, err
}

// input is a host as text.
func (o *hostOptions) input(name string, text []byte, local []netip.Addr) certificate.Input {
	return certificate.Input{Name: name, Text: string(text), Local: local, Tools: netfilter.Dialect(o.tools)}
}

// notRead is what the snapshot lacks, each with the reason.
func (h *hostSource) notRead() (out []string) {
	if h.taken == nil {
		return nil
	}
	for _, u := range h.taken.Unread {
		out = append(out, fmt.Sprintf("%s: %s", u.What, u.Why))
	}
	return out
}

// has says whether the host may treat packets of a family otherwise than every host does.
func (h *hostSource) has(family netfilter.Family) bool {
	return h.saved == nil || !h.saved.IsEmpty(family)
}

// host is the host as it was read.
func (h *hostSource) host() (*packetsim.Host, error) {
	if h.known != nil {
		return h.known, nil
	}
	return h.saved.Host(inet.Input{})
}

// side is the host as it is compared.
func (h *hostSource) side(book *names.Book) (allpackets.Side, error) {
	host, err := h.host()
	side := allpackets.Side{Name: h.name, Host: host, Unread: h.notRead(), Names: book}
	if h.saved != nil && h.saved.LacksOwn() {
		side.Unread = append(side.Unread, "the node's own addresses, which rules ask for or masquerade with: name them with --local")
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if h.has(family) {
			side.Families = append(side.Families, family)
		}
	}
	return side, err
}

// nodes reads nodes, each once. They are called as their snapshots call them.
func (o *hostOptions) nodes(s streams, paths []string, book *names.Book) (sides []allpackets.Side, err error) {
	for _, path := range paths {
		source, err := o.read(s, path)
		if err != nil {
			return nil, err
		}
		side, err := source.side(book)
		if err != nil {
			return nil, err
		}
		if source.taken != nil {
			side.Name = source.taken.Hostname
		}
		if slices.ContainsFunc(sides, func(other allpackets.Side) bool { return other.Name == side.Name }) {
			return nil, fmt.Errorf("two snapshots are of %s: give one of each node", side.Name)
		}
		sides = append(sides, side)
	}
	return sides, nil
}
