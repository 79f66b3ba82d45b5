package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
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

// hostSource is a host that was read: one of a snapshot, or the rules of a text.
type hostSource struct {
	name  string
	saved *snapshot.Saved
	known *packetsim.Host
	// unread is what the snapshot lacks.
	unread []snapshot.Unread
	// input is all of the host as text.
	input certificate.Input
}

// pair reads two hosts. Standard input can be only one of them.
func (o *hostOptions) pair(s streams, before, after string) (out [2]*hostSource, err error) {
	if before == "-" && after == "-" {
		return out, errors.New("- is given twice: standard input can be read only once")
	}
	for i, path := range []string{before, after} {
		if out[i], err = o.read(s, path); err != nil {
			return out, err
		}
	}
	return out, nil
}

// read reads a snapshot, a folder or a text of rules.
func (o *hostOptions) read(s streams, path string) (*hostSource, error) {
	if _, err := parseTools(o.tools); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		taken, err := snapshotOfFiles(s, path)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := taken.Write(&text, snapshot.YAML); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return o.ofSnapshot(path, taken, text.Bytes())
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
	known := snapshot.RulesOptions{Dialect: netfilter.Dialect(o.tools)}
	if known.Local, err = localAddresses(o.local); err != nil {
		return nil, err
	}
	saved, err := snapshot.ReadSaved(name, bytes.NewReader(text), known)
	if errors.Is(err, snapshot.ErrIsSnapshot) {
		taken, err := snapshot.Read(name, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		return o.ofSnapshot(path, taken, text)
	}
	return &hostSource{name: path, saved: saved, input: o.input(path, text, known.Local)}, err
}

func (o *hostOptions) ofSnapshot(name string, taken *snapshot.NodeSnapshot, text []byte) (*hostSource, error) {
	host, err := snapshot.NewHost(taken, snapshot.HostOptions{Dialect: netfilter.Dialect(o.tools)})
	return &hostSource{name: name, known: host, unread: taken.Unread, input: o.input(name, text, nil)}, err
}

// input is a host as text.
func (o *hostOptions) input(name string, text []byte, local []netip.Addr) certificate.Input {
	return certificate.Input{Name: name, Text: string(text), Local: local, Tools: netfilter.Dialect(o.tools)}
}

// notRead is what the snapshot lacks, each with the reason.
func (h *hostSource) notRead() (out []string) {
	for _, u := range h.unread {
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
