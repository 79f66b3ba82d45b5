package peers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/proxy"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// mendedNFT are programs that give nft other transactions than kube-proxy of a family has written.
type mendedNFT struct {
	exec.Interface
	mends  Mends
	family v1.IPFamily
	// services and endpoints return what kube-proxy knows at the moment.
	services  func() proxy.ServicePortMap
	endpoints func() proxy.EndpointsMap
	// hairpins are the elements that were added for endpoints that no slice places on a node.
	hairpins []string
	sparing  sparingNFT
	// wrote says that a transaction was carried out, and unlisted that the chains could not be listed since: some may be out of use.
	wrote, unlisted bool
}

// newMendedNFT has the programs of a family mended.
func (k *process) newMendedNFT(f *processFamily, family v1.IPFamily) *mendedNFT {
	return &mendedNFT{
		Interface: k.process.Kernel.Exec, mends: k.mends, family: family,
		services:  func() proxy.ServicePortMap { return *field[proxy.ServicePortMap](f.proxier, "svcPortMap") },
		endpoints: func() proxy.EndpointsMap { return *field[proxy.EndpointsMap](f.proxier, "endpointsMap") },
		sparing:   sparingNFT{look: unwatched(k.process.Kernel.Exec), family: family},
	}
}

// Command implements exec.Interface.
func (p *mendedNFT) Command(name string, args ...string) exec.Cmd {
	cmd := p.Interface.Command(name, args...)
	if slices.Contains(args, "list") && slices.Contains(args, "table") {
		return &mendedListing{Cmd: cmd, programs: p}
	}
	if !slices.Contains(args, "-f") || slices.Contains(args, "--check") {
		return cmd
	}
	return &mendedTransaction{Cmd: cmd, programs: p}
}

// CommandContext implements exec.Interface.
func (p *mendedNFT) CommandContext(_ context.Context, name string, args ...string) exec.Cmd {
	return p.Command(name, args...)
}

// mendedListing is a call of nft that lists the chains and sets of the table.
type mendedListing struct {
	exec.Cmd
	programs *mendedNFT
}

// Run implements exec.Cmd.
func (l *mendedListing) Run() error {
	err := l.Cmd.Run()
	l.programs.unlisted = l.programs.unlisted || l.programs.wrote && err != nil
	return err
}

// mendedTransaction is a call of nft that carries out a transaction.
type mendedTransaction struct {
	exec.Cmd
	programs *mendedNFT
	input    []byte
	err      error
}

// SetStdin implements exec.Cmd.
func (t *mendedTransaction) SetStdin(in io.Reader) { t.input, t.err = io.ReadAll(in) }

// Run implements exec.Cmd.
func (t *mendedTransaction) Run() error {
	if t.err != nil {
		return t.err
	}
	p := t.programs
	input, anew := p.affinityAnew(t.input)
	there := p.unplaced()
	spares := p.mends.has(SameNotRestored)
	if spares && !anew {
		if input = p.sparing.rest(input); input == nil && slices.Equal(there, p.hairpins) {
			return nil
		}
	}
	t.Cmd.SetStdin(bytes.NewReader(p.mended(input, there)))
	err := t.Cmd.Run()
	if err == nil {
		p.hairpins, p.wrote = there, true
	}
	if spares {
		p.sparing.ended(t.input, err == nil)
	}
	return err
}

// affinityAnew deletes the sets of clients first that a transaction gives another timeout, and says whether it gives one. kube-proxy has
// emptied the chains that name them then.
func (p *mendedNFT) affinityAnew(input []byte) (out []byte, anew bool) {
	if !p.mends.has(AffinityFollows) {
		return input, false
	}
	for line := range bytes.Lines(input) {
		if name, set := setOf(string(line)); set && strings.HasPrefix(name, "affinity-") && bytes.HasPrefix(line, []byte("add ")) {
			at := []string{"set", nftables.Word(p.family), kubenft.Table, name}
			listed, err := p.sparing.look.Command(nft, append([]string{"-j", "-t", "list"}, at...)...).CombinedOutput()
			is, was := declaredTimeout.FindSubmatch(line), listedTimeout.FindSubmatch(listed)
			if err == nil && is != nil && was != nil && !bytes.Equal(is[1], was[1]) {
				out = append(out, "delete "+strings.Join(at, " ")+"\n"...)
				anew = true
			}
		}
		out = append(out, line...)
	}
	return out, anew
}

// The timeout of a set in seconds, as kube-proxy declares it and as nft lists it.
var (
	declaredTimeout = regexp.MustCompile(` timeout (\d+)s `)
	listedTimeout   = regexp.MustCompile(`"timeout": ?(\d+)`)
)

// mended changes a transaction as the mends want it. Endpoints that no slice places on a node need the elements there: all where kube-proxy
// writes everything, and otherwise those that are new or that it takes away.
func (p *mendedNFT) mended(input []byte, there []string) []byte {
	if p.mends.has(EchoPasses) {
		const asks, ports = "@cluster-ips reject", "@cluster-ips meta l4proto { tcp, udp, sctp } reject"
		input = bytes.ReplaceAll(input, []byte(asks), []byte(ports))
		for _, to := range []string{"ip daddr ", "ip6 daddr "} { // they would be dropped as to an address that no service has
			input = bytes.ReplaceAll(input, []byte("cluster-ips-check "+to+"{"), []byte("cluster-ips-check "+to+"!= @cluster-ips "+to+"{"))
		}
	}
	for _, gone := range p.hairpins {
		if !slices.Contains(there, gone) {
			input = append(input, p.hairpin("add", gone)+p.hairpin("delete", gone)...) // kube-proxy may have deleted it
		}
	}
	full := bytes.Contains(input, []byte("add set "+p.hairpinSet()))
	for _, element := range there {
		if full || !slices.Contains(p.hairpins, element) || bytes.Contains(input, []byte(p.hairpin("delete", element))) {
			input = append(input, p.hairpin("add", element)...)
		}
	}
	return input
}

func (p *mendedNFT) hairpin(verb, element string) string {
	return fmt.Sprintf("%s element %s { %s }\n", verb, p.hairpinSet(), element)
}

// hairpinSet is the set of endpoints that reach themselves, as nft names it.
func (p *mendedNFT) hairpinSet() string {
	return fmt.Sprintf("%s %s hairpin-connections", nftables.Word(p.family), kubenft.Table)
}

// unplaced are the elements of endpoints that may be on this node and are not known to be.
func (p *mendedNFT) unplaced() []string {
	var out []string
	if !p.mends.has(HairpinOfUnplaced) {
		return nil
	}
	services := p.services()
	for port, endpoints := range p.endpoints() {
		if services[port] == nil {
			continue
		}
		for _, e := range endpoints {
			if !e.IsLocal() {
				out = append(out, fmt.Sprintf("%[1]s . %[1]s . %[2]s . %[3]d", e.IP(), strings.ToLower(string(port.Protocol)), e.Port()))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mendTable asks for a full sync if somebody has deleted the table.
func (k *process) mendTable(f *processFamily, family v1.IPFamily) {
	if !k.native() || !k.mends.has(TableWatched) {
		return
	}
	look := unwatched(k.process.Kernel.Exec).Command("nft", "list", "chain", nftables.Word(family), kubenft.Table, "services")
	if look.Run() != nil {
		f.forceFullSync()
		f.proxier.Sync()
	}
}

// mendStale has the sync that deletes chains which are out of use follow the one that has emptied them, and that one the sync that could
// not list chains.
func (k *process) mendStale(f *processFamily, sync func() error) error {
	if !k.native() || !k.mends.has(EmptyChainsDeleted) {
		return nil
	}
	for range 3 { // what fails for longer is tried again with the next sync
		if !f.programs.unlisted && len(*f.staleChains()) == 0 {
			break
		}
		f.programs.unlisted = false
		f.ageChains()
		if err := sync(); err != nil {
			return err
		}
	}
	return nil
}
