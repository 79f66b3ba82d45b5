package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
)

type diffOptions struct {
	hosts   hostOptions
	classes []string
	chance  string
	ignore  []string
	output  string
	// certificate is the file that gets the certificate, of at most so many boxes; empty: none is written.
	certificate string
	mostBoxes   int
}

func newDiffCommand(s streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER [-f OBJECTS...] [--class CLASS,...] [--local ADDR,...]",
		Short: "Say which packets two rulesets treat otherwise, of all packets that there are",
		Long: `BEFORE and AFTER are each a NodeSnapshot, a folder with files of a node, or a text of rules: what iptables-save and ip6tables-save
print, what "nft list ruleset" prints (text or JSON), or both. Any two can be compared: iptables with nftables, one node with another.

It compares every address, port, protocol and device at once, with exact chances, and prints each kind of difference once: how many
packets differ in this way, a range of them, a likely one, what becomes of it on both sides, and the rule that decides there. It compares
the first packets of connections as most programs send them (a SYN, an echo request); --class chooses other packets. Some rules test more
than addresses (a limit, a counter, a socket): such a condition gets a name, and each difference lists the conditions under which it was
found.

With --certificate it writes a file from which anybody can see that this is so: both sides, and all packets in disjoint boxes with what
becomes of them on either side. "chainwalk verify" checks it without trust in what wrote it.

The exit status is 0 if all packets are treated alike, 1 if some are not, 2 if it cannot be said.`,
		Example: `  chainwalk diff before.rules after.rules
  chainwalk diff iptables.rules nft.rules --local 192.0.2.10
  chainwalk diff node1.yaml node2.yaml -f objects.yaml --ignore source
  chainwalk diff before.rules after.rules --certificate change.json && chainwalk verify change.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("want BEFORE and AFTER, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runDiff(s, o, args[0], args[1]) },
	}
	o.hosts.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&o.classes, "class", []string{"new"}, "which packets: new, established, replying, related, invalid, untracked")
	flags.StringVar(&o.chance, "chance", "ideal", "ideal: a draw as near to 1/n as a rule can say it is 1/n; exact: as it is")
	flags.StringSliceVar(&o.ignore, "ignore", nil,
		"what makes no difference: mark, source, detail (everything but the verdict and where it goes)")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the result: text or json")
	addCertificateFlags(cmd, &o)
	completeWords(cmd, "class", "new", "established", "replying", "related", "invalid", "untracked")
	completeWords(cmd, "chance", "ideal", "exact")
	completeWords(cmd, "ignore", "mark", "source", "detail")
	completeWords(cmd, "output", "text", "json")
	return cmd
}

// options are what the flags say of the fates.
func (o *diffOptions) options() (out forall.Options, err error) {
	for _, name := range o.classes {
		class, err := forall.ParseClass(name)
		if err != nil {
			return out, fmt.Errorf("--class: %w", err)
		}
		out.Classes = append(out.Classes, class)
	}
	switch o.chance {
	case "ideal":
	case "exact":
		out.Chance = forall.Exact
	default:
		return out, fmt.Errorf("--chance %s: want ideal or exact", o.chance)
	}
	for _, name := range o.ignore {
		part, known := map[string]forall.Part{"mark": forall.Mark, "source": forall.Source, "detail": forall.Detail}[name]
		if !known {
			return out, fmt.Errorf("--ignore %s: want mark, source or detail", name)
		}
		out.Ignore |= part
	}
	if o.output != "text" && o.output != "json" {
		return out, fmt.Errorf("-o %s: want text or json", o.output)
	}
	return out, o.checkCertificate(out.Classes)
}

// diffResult is what diff prints as JSON.
type diffResult struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	// Same says that all packets are treated alike.
	Same        bool             `json:"same"`
	Differences []diffDifference `json:"differences"`
	// Unknown are kinds of packets whose fate is not known on a side, since it is not modelled.
	Unknown []string `json:"unknown,omitempty"`
	// Unread is what was not read of a side.
	Unread []string `json:"unread,omitempty"`
}

// diffDifference is one kind of difference.
type diffDifference struct {
	packetKind
	Before forall.Distribution `json:"before"`
	After  forall.Distribution `json:"after"`
	// DecidedBefore and DecidedAfter are the last rules that the packet meets, by a walk of it.
	DecidedBefore []string `json:"decidedBefore,omitempty"`
	DecidedAfter  []string `json:"decidedAfter,omitempty"`
}

func runDiff(s streams, o diffOptions, before, after string) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	book, err := o.hosts.book(s)
	if err != nil {
		return err
	}
	sides, err := o.hosts.pair(s, before, after)
	if err != nil {
		return err
	}
	result := diffResult{Version: 1, Same: true, Differences: []diffDifference{}}
	for _, side := range sides {
		for _, text := range side.notRead() {
			result.Unread = append(result.Unread, side.name+": "+text)
		}
	}
	for _, family := range familiesWithRules(sides) {
		if err := result.compare(sides, family, options, book); err != nil {
			return err
		}
	}
	result.conclude(before, after)
	if err := writeCertificate(&o, sides, &options); err != nil {
		return err
	}
	if err := result.write(s, o.output); err != nil {
		return err
	}
	switch {
	case len(result.Unknown)+len(result.Unread) > 0 && len(result.Differences) == 0:
		return toolStatus(exitUsage) // the answer says what is not known
	case !result.Same:
		return errNotHeld
	}
	return nil
}

// familiesWithRules are those of the packets that the sides may treat otherwise than every host does.
func familiesWithRules(sides [2]*hostSource) (out []netfilter.Family) {
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if sides[0].has(family) || sides[1].has(family) {
			out = append(out, family)
		}
	}
	return out
}

// compare adds the differences of a family.
func (r *diffResult) compare(sides [2]*hostSource, family netfilter.Family, options forall.Options, book *names.Book) error {
	options.Families = []netfilter.Family{family}
	var hosts [2]*packetsim.Host
	var fates [2]*forall.Fates
	for i, side := range sides {
		var err error
		if hosts[i], err = side.host(); err != nil {
			return err
		}
		options.Beside = fates[0]
		if fates[i], err = forall.Of(hosts[i], options); err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
	}
	if fates[0].Equal(fates[1]) {
		return nil
	}
	r.Same = false
	for d := range fates[0].Diff(fates[1]) {
		if !d.Here.Known() || !d.There.Known() {
			r.Unknown = append(r.Unknown, fmt.Sprintf("%s: before %s; after %s", d.Space.String(), d.Here, d.There))
			continue
		}
		one := diffDifference{packetKind: kindOf(&d.Space, d.Share, &d.Witness, book), Before: d.Here, After: d.There}
		if d.Space.Class == forall.New && !slices.ContainsFunc(d.Space.Names, func(n forall.Named) bool { return n.Holds }) {
			for i, want := range [2]forall.Distribution{d.Here, d.There} {
				if err := confirmWitness(hosts[i], d.Witness, want, options.Ignore); err != nil {
					return fmt.Errorf("%s: %w", sides[i].name, err)
				}
			}
			one.DecidedBefore, one.DecidedAfter = decidedOn(hosts[0], d.Witness), decidedOn(hosts[1], d.Witness)
		}
		r.Differences = append(r.Differences, one)
	}
	return nil
}

// idealTolerance is what a draw of iptables that counts as 1/n may be off by, for all endpoints of a service together.
const idealTolerance = 1e-6

// confirmWitness is an error if a walk of a packet says something else than was worked out for it. That is a mistake of chainwalk.
func confirmWitness(h *packetsim.Host, in inet.Input, want forall.Distribution, left forall.Part) error {
	otherwise, err := forall.Confirm(h, in, want, left, idealTolerance)
	if err != nil || otherwise == "" {
		return nil //nolint:nilerr // a walk that cannot say what becomes of a packet contradicts nothing, and decidedOn says why
	}
	return fmt.Errorf("%s: a walk says something else than was worked out, so nothing can be said: %s "+
		"(please report this mistake of chainwalk)", in, otherwise)
}

// witnessEnds names the ends of a packet.
func witnessEnds(book *names.Book, in *inet.Input) string {
	if book == nil {
		return ""
	}
	var out []string
	if name := book.Address(in.Src); name != "" {
		out = append(out, "from "+name)
	}
	if name := book.Destination(in.Proto, netip.AddrPortFrom(in.Dst, in.DstPort)); name != "" {
		out = append(out, "to "+name)
	} else if name := book.Address(in.Dst); name != "" {
		out = append(out, "to "+name)
	}
	return strings.Join(out, ", ")
}

// decidedOn is what decides about a packet, for each outcome of a walk of it: the rule that translates it, or else the last rule or
// policy that it meets, or why the kernel stops it without a rule.
func decidedOn(h *packetsim.Host, in inet.Input) (out []string) {
	outcomes, err := h.Walk(in)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range outcomes {
		text := decidedBy(&outcomes[i])
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func decidedBy(o *packetsim.Outcome) string {
	switch {
	case o.Why != "":
		return "no rule: " + o.Why
	case len(o.Steps) == 0:
		return "no rule: it meets none"
	}
	by := &o.Steps[len(o.Steps)-1]
	if at := slices.IndexFunc(o.Steps, func(s packetsim.Step) bool { return s.Rule != nil && s.Rule.Fact.Translation.Of != "" }); at >= 0 {
		by = &o.Steps[at]
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", by, by.Text()))
}

// conclude puts the answer into words.
func (r *diffResult) conclude(before, after string) {
	switch n := len(r.Differences); {
	case r.Same && len(r.Unread) > 0:
		r.Answer = fmt.Sprintf("cannot say: parts of a side were not read; by the rest, %s and %s treat all packets alike", before, after)
	case r.Same:
		r.Answer = fmt.Sprintf("%s and %s treat all packets alike", before, after)
	case n == 0:
		r.Answer = fmt.Sprintf("cannot say: what becomes of %s of packets is not known", kinds(len(r.Unknown)))
	case n == 1:
		r.Answer = "1 kind of packets is treated otherwise"
	default:
		r.Answer = kinds(n) + " of packets are treated otherwise"
	}
	if len(r.Unknown) > 0 && len(r.Differences) > 0 {
		r.Answer = fmt.Sprintf("what becomes of %s of packets is not known; %s", kinds(len(r.Unknown)), r.Answer)
	}
}

func kinds(n int) string {
	if n == 1 {
		return "1 kind"
	}
	return fmt.Sprintf("%d kinds", n)
}

func (r *diffResult) write(s streams, output string) error {
	if output == "json" {
		return writeJSON(s.out, r)
	}
	writeHead(s, r.Answer, r.Unread, r.Unknown)
	for i := range r.Differences {
		r.Differences[i].write(s)
	}
	return nil
}

func (d *diffDifference) write(s streams) {
	d.packetKind.write(s, "")
	writeField(s, "before", d.Before.String())
	for _, text := range d.DecidedBefore {
		writeField(s, "  by", text)
	}
	writeField(s, "after", d.After.String())
	for _, text := range d.DecidedAfter {
		writeField(s, "  by", text)
	}
}
